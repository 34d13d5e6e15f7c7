"""What can be picked on the edit page: prompt blocks, agents, tools, names of the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, Value
from django.db.models.functions import Lower
from django.http import HttpRequest, JsonResponse

from studio.forms.context import ContextControl
from studio.forms.inputs import Input
from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from studio.pages import ResourcePage
from studio.summaries import summary_of
from versioning.conf import get_editor
from versioning.domain import ids
from versioning.domain.access import Caller, Right
from versioning.models.querysets import within
from versioning.models.search import MAX_LENGTH, contains

MOST = 20
"""How many suggestions there are at once."""

_KINDS = {kind.namespace: kind for kind in (AGENT, PROMPT_BLOCK)}
# A suggestion needs the names of the versions, not the versions.
_HEAVY = [
    f"{version}__{column}"
    for version in ("active_version", "latest_version")
    for column in ("config_json", "search_text")
]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Something that can be referred to by its id, in the words of the page."""

    id: str
    name: str
    state: str
    address: str

    def as_dict(self) -> dict[str, str]:
        """Return what the script is told."""
        return {"id": self.id, "name": self.name, "state": self.state, "address": self.address}


class ChoicesPage(ResourcePage):
    """Suggestions while somebody types: `?of=prompt&q=tone`, as JSON."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        """Return what the caller may read and that has the text in its id or its name."""
        self.require(Right.SAVE)
        kind = _KINDS.get(request.GET.get("of", ""), PROMPT_BLOCK)
        found = matching(kind, request.GET.get("q", ""), self.caller)
        return JsonResponse({"choices": [choice.as_dict() for choice in found]})


def matching(kind: StudioKind, text: str, caller: Caller) -> list[Choice]:
    """Return the first few resources that have the text in the id, or in the name the caller may read.

    There are none for a text longer than what can be searched for.
    """
    text = text.replace("\x00", "").strip()
    if len(text) > MAX_LENGTH:
        return []
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    in_id, in_active, in_latest = (
        contains(Lower(column), Lower(Value(text)))
        for column in ("pk", "active_version__name", "latest_version__name")
    )
    found = _chosen(kind, in_id | in_active | (drafts & in_latest), caller)
    return [*_of_code(kind, text, caller), *found][:MOST]


def referred_to(controls: Input, caller: Caller) -> dict[str, dict[str, Choice]]:
    """Return, by kind and id, what the form refers to; what the caller may not read is not among it."""
    blocks = {row["id"].as_line for row in controls["instructions"]["blocks"].rows}
    agents = {row["key"].as_line for row in controls["agents"]["offered"].rows}
    return {
        PROMPT_BLOCK.namespace: _by_id(PROMPT_BLOCK, blocks, caller),
        AGENT.namespace: _by_id(AGENT, agents, caller),
    }


def known_names(resource_id: str, controls: Iterable[ContextControl]) -> Mapping[str, list[str]]:
    """Return the tools that the agent can use by name, and the names that its context has."""
    return {
        "tools": sorted(get_editor().code.tools_of(resource_id)),
        "context": [control.path for control in controls],
    }


def _by_id(kind: StudioKind, wanted: set[str], caller: Caller) -> dict[str, Choice]:
    possible = {one for one in wanted if not ids.fault(one)}
    if not possible:
        return {}
    found = [choice for choice in _of_code(kind, "", caller) if choice.id in possible]
    found += _chosen(kind, Q(pk__in=possible), caller, most=len(possible))
    return {choice.id: choice for choice in found}


def _chosen(kind: StudioKind, condition: Q, caller: Caller, most: int = MOST) -> list[Choice]:
    rows: Any = kind.collection.list(by=caller).filter(condition).order_by("pk")
    summaries = [summary_of(row, None, caller) for row in rows.defer(*_HEAVY)[:most]]
    return [
        Choice(
            id=one.resource_id,
            name=one.name,
            state=one.state.value,
            address=kind.address("change", one.resource_id),
        )
        for one in summaries
    ]


def _of_code(kind: StudioKind, text: str, caller: Caller) -> list[Choice]:
    if kind is not AGENT:
        return []
    agents = get_editor().code.readable_by(caller).values()
    return [
        Choice(id=agent.id, name=agent.name, state="Published", address=kind.address("change", agent.id))
        for agent in agents
        if text.casefold() in f"{agent.id}\n{agent.name}".casefold()
    ]
