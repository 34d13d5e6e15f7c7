"""The references of a form as the page shows them: prompt blocks with their text, and sub-agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from editor_client.shared import ids
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks

from studio.editing.choices import Choice
from studio.forms.inputs import Input
from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from studio.limits import PageBudget, shortened
from studio.resources.base import ResourcePage
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, Message
from versioning.editor.catalog import suggestions_by_id

MAX_READ: Final = 2 * PageBudget.characters
"""The maximum total length of the prompt blocks on a page."""
EXCERPT_LINES: Final = 2
EXCERPT: Final = 240
"""The maximum length in characters of an unexpanded prompt block on the page."""


@dataclass(frozen=True, kw_only=True)
class ShownBlock:
    """A prompt block that instructions refer to, with its text as far as the caller may read it."""

    choice: Choice
    text: str | None
    """None if the texts together are too long for the page."""
    rules: Mapping[str, Any] | None
    """Its own display rules."""

    @property
    def excerpt(self) -> str:
        """The beginning of the text."""
        lines = [line for line in (self.text or "").splitlines() if line.strip()]
        return shortened("\n".join(lines[:EXCERPT_LINES]), EXCERPT)

    @property
    def has_more(self) -> bool:
        """Whether there is more to read than the excerpt."""
        return self.text is not None and self.text.strip() != self.excerpt


@dataclass(frozen=True, kw_only=True)
class References:
    """The resources that are referred to and readable for the caller, by kind and id."""

    prompt: Mapping[str, ShownBlock]
    agent: Mapping[str, Choice]


def references_to(blocks: Iterable[str], agents: Iterable[str], caller: Caller) -> References:
    """Return the resources with these ids; takes three queries."""
    return References(prompt=_blocks(blocks, caller), agent=_choices(AGENT, agents, caller))


def referred_to(controls: Input, caller: Caller) -> References:
    """Return the references of a form."""
    blocks = {row["id"].as_line for row in controls["instructions"]["blocks"].rows}
    lists = [controls["agents"], *(row["value"] for row in controls["agents"]["variants"].rows)]
    agents = {row["key"].as_line for one in lists for row in one["offered"].rows}
    return references_to(blocks, agents, caller)


class ReferencePage(ResourcePage):
    """A prompt block as the edit page shows it: `?id=tone`; a fragment for a new reference."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the parts of its card, which tell if the id leads nowhere."""
        self.require(Right.SAVE)
        requested = request.GET.get("id", "").strip()
        context = {
            "chosen": references_to({requested}, (), self.caller).prompt.get(requested),
            "id": requested,
        }
        return TemplateResponse(request, "studio/editing/reference.html", context)


def _choices(kind: StudioKind, wanted: Iterable[str], caller: Caller) -> dict[str, Choice]:
    found = suggestions_by_id(kind.catalog(caller), wanted)
    return {id_: Choice.of(kind, value) for id_, value in found.items()}


def _blocks(wanted: Iterable[str], caller: Caller) -> dict[str, ShownBlock]:
    possible = {one for one in wanted if not ids.problem(one)}
    if not possible:
        return {}
    found = PROMPT_BLOCK.collection.newest_readable(possible, limit=MAX_READ, by=caller)
    configs = {id_: version.config for id_, version in found.items()}
    return {
        id_: ShownBlock(
            choice=choice,
            text=configs[id_]["content"] if id_ in configs else None,
            rules=configs.get(id_, {}).get("rules"),
        )
        for id_, choice in _choices(PROMPT_BLOCK, possible, caller).items()
    }


_REFERENCES: Final[Mapping[str, tuple[StudioKind, Callable[[Config], Iterable[tuple[str, str]]]]]] = {
    "instructions": (PROMPT_BLOCK, referenced_blocks),
    "agents": (AGENT, referenced_agents),
}
"""By the field with the references: the kind that they lead to, and how they are found."""


def refuse_unknown(changed: Mapping[str, Any], known: list[Config], caller: Caller) -> None:
    """Raise `Invalid` with every new reference to something that the caller may not use.

    The API takes them, because what is referred to may come later. In a form, such an id is a slip.
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
