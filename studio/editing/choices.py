"""What the pickers of the edit page offer: prompt blocks, agents, tools, models; names of the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from django.http import HttpRequest, JsonResponse

from studio.editing.used import known_models, known_providers, known_tools
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
MAX_PREVIEW: Final = 160

_KINDS = {kind.namespace: kind for kind in KINDS}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A suggestion to refer to by id, in the words of the page; the script gets it as JSON."""

    id: str
    name: str = ""
    """Empty if the id is the name."""
    state: str = ""
    chip: str = ""
    """The class of the chip that shows the state."""
    address: str = ""
    folder: str = ""
    """The part of the id up to its last `/`."""
    preview: str = ""
    """How its prompt begins; of a tool or a model, where it is declared or used."""

    @classmethod
    def of(cls, kind: StudioKind, found: Suggestion) -> Choice:
        """Return a suggestion with the link to it."""
        return cls(
            id=found.id,
            name=shortened(found.name),
            state=str(STATES[found.state].word),
            chip=STATES[found.state].chip,
            address=kind.address("change", found.id),
            folder=found.id[: found.id.rfind("/") + 1],
            preview=shortened(found.excerpt, MAX_PREVIEW),
        )


class ChoicesPage(ResourcePage):
    """Suggestions while a person types: `?of=prompt&q=tone`, as JSON."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        """Return what can be chosen and has the text in its id or name."""
        self.require(Right.SAVE)
        wanted, text = (request.GET.get(name, "").replace("\x00", "").strip() for name in ("of", "q"))
        names = self._names(wanted)
        if names is None:
            kind = _KINDS.get(wanted, PROMPT_BLOCK)
            found = [
                Choice.of(kind, one) for one in suggestions(kind.catalog(self.caller), text, MAX_CHOICES)
            ]
        else:
            found = _containing(text, names)
        return JsonResponse({"choices": [asdict(one) for one in found]})

    def _names(self, wanted: str) -> Mapping[str, str] | None:
        """Return what is chosen by its name alone, with where it comes from; None for resources."""
        match wanted:
            case "tool":
                return known_tools(self.resource_id, self.workspace_id, self.caller)
            case "model":
                return known_models(self.request.GET.get("provider", ""), self.workspace_id, self.caller)
            case "provider":
                return known_providers()
        return None


def _containing(text: str, names: Mapping[str, str]) -> list[Choice]:
    """Return the names with the text, those first that begin with it."""
    sought = text.casefold()
    matching = [one for one in names if sought in one.casefold()]
    found = sorted(matching, key=lambda one: not one.casefold().startswith(sought))
    return [Choice(id=one, preview=shortened(names[one], MAX_PREVIEW)) for one in found[:MAX_CHOICES]]


def known_names(resource_id: str, controls: Iterable[ContextControl]) -> Mapping[str, list[str]]:
    """Return the tools that the agent can use by name, and the names in its context."""
    return {
        "tools": sorted(get_editor().code.tools_of(resource_id)),
        "context": [control.path for control in controls],
    }
