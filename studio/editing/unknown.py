"""Refuses references to what does not exist, when they are typed into the form.

The API takes them, because what is referred to may come later. In a form, an id that leads nowhere is a slip.
What was saved before stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks

from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from studio.limits import shortened
from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, Message
from versioning.editor.catalog import suggestions_by_id

_REFERENCES: Final[Mapping[str, tuple[StudioKind, Callable[[Config], Iterator[tuple[str, str]]]]]] = {
    "instructions": (PROMPT_BLOCK, referenced_blocks),
    "agents": (AGENT, referenced_agents),
}
"""By the field with the references: the kind that they lead to, and how they are found."""


def refuse_unknown(changed: Mapping[str, Any], known: list[Config], caller: Caller) -> None:
    """Raise `Invalid` with every new reference to something that the caller may not use.

    `changed` are the valid values of the fields that were changed; `known` are the configurations whose
    references are no news. Takes one query for each field with new references.
    """
    issues: list[Issue] = []
    for field, (kind, references) in _REFERENCES.items():
        if field not in changed:
            continue
        old = {target for config in known for _place, target in references(config)}
        new = [(place, target) for place, target in references({field: changed[field]}) if target not in old]
        found = suggestions_by_id(kind.catalog(caller), {target for _place, target in new}) if new else {}
        issues += [_issue(kind, place, target) for place, target in new if target not in found]
    if issues:
        raise Invalid(issues)


def _issue(kind: StudioKind, place: str, target: str) -> Issue:
    named = {"id": shortened(target)}
    if kind is AGENT:
        return Issue(place, Message("there is no agent with the id {id} that you may use here", **named))
    return Issue(place, Message("there is no prompt block with the id {id} that you may use here", **named))
