"""Suggestions on the edit page: prompt blocks, agents, tools, names of the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from django.http import HttpRequest, JsonResponse

from studio.forms.context import ContextControl
from studio.kinds import KINDS, PROMPT_BLOCK, StudioKind
from studio.limits import shortened
from studio.resources.base import ResourcePage
from studio.resources.summaries import STATES
from versioning.conf import get_editor
from versioning.domain.access import Right
from versioning.editor.catalog import Suggestion, suggestions

MAX_CHOICES: Final = 20
"""The maximum number of suggestions."""

_KINDS = {kind.namespace: kind for kind in KINDS}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A suggestion to refer to by id, in the words of the page; the script gets it as JSON."""

    id: str
    name: str
    state: str
    chip: str
    """The class of the chip that shows the state."""
    address: str

    @classmethod
    def of(cls, kind: StudioKind, found: Suggestion) -> Choice:
        """Return a suggestion with the link to it."""
        return cls(
            id=found.id,
            name=shortened(found.name),
            state=str(STATES[found.state].word),
            chip=STATES[found.state].chip,
            address=kind.address("change", found.id),
        )


class ChoicesPage(ResourcePage):
    """Suggestions while a person types: `?of=prompt&q=tone`, as JSON."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        """Return the readable resources whose id or name contains the text."""
        self.require(Right.SAVE)
        kind = _KINDS.get(request.GET.get("of", ""), PROMPT_BLOCK)
        text = request.GET.get("q", "").replace("\x00", "").strip()
        found = suggestions(kind.catalog(self.caller), text, MAX_CHOICES)
        return JsonResponse({"choices": [asdict(Choice.of(kind, one)) for one in found]})


def known_names(resource_id: str, controls: Iterable[ContextControl]) -> Mapping[str, list[str]]:
    """Return the tools that the agent can use by name, and the names in its context."""
    return {
        "tools": sorted(get_editor().code.tools_of(resource_id)),
        "context": [control.path for control in controls],
    }
