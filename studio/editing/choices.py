"""What the pickers of the edit page offer: prompt blocks, agents, tools, models; names of the context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from editor_client.shared.text_keys import caseless

from studio.forms.context import ContextControl
from studio.kinds import AGENT, KINDS, PROMPT_BLOCK, StudioKind
from studio.limits import shortened
from studio.resources.base import ResourcePage
from studio.resources.rows import STATES
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.agents import referenced_tools
from versioning.domain.config import Config
from versioning.editor.catalog import Suggestion, suggestions

MAX_READ: Final = 100
"""How many agents of the workspace are read, those that were changed last."""
MAX_CHARACTERS: Final = 2_000_000
"""The maximum total length of their configurations."""


def known_tools(agent_id: str, workspace_id: str, caller: Caller) -> dict[str, str]:
    """Return the tools that may be meant, by name, each with where it comes from; three queries."""
    code = get_editor().code
    agent = code.get(agent_id)
    described = dict(agent.tool_descriptions) if agent is not None else {}
    found = {name: described.get(name) or _("in the code") for name in sorted(code.tools_of(agent_id))}
    for config in _configs(workspace_id, caller):
        for _place, name in referenced_tools(config):
            found.setdefault(name, _used_in(config))
    return found


def known_models(provider: str, workspace_id: str, caller: Caller) -> dict[str, str]:
    """Return the names of models in use, of this provider or of any, each with where it is; three queries."""
    found: dict[str, str] = {}
    for agent in get_editor().code.readable_by(caller).values():
        _add(found, provider, agent.model, _("used in %(name)s") % {"name": shortened(agent.name)})
    for config in _configs(workspace_id, caller):
        for model in _models(config):
            _add(found, provider, model, _used_in(config))
    return found


def known_providers() -> dict[str, str]:
    """Return the providers with what they lack, those that are ready first; others can be typed."""
    ready, others = {}, {}
    for provider in get_editor().providers().all():
        if provider.missing_extra is not None:
            lacks = _("pydantic-ai-slim[%(extra)s] is not installed") % {"extra": provider.missing_extra}
            others[provider.name] = lacks
        elif provider.missing_variable is not None:
            others[provider.name] = _("%(variable)s is not set") % {"variable": provider.missing_variable}
        else:
            ready[provider.name] = _("ready")
    return {**ready, **others}


def _configs(workspace_id: str, caller: Caller) -> Iterable[Config]:
    newest = AGENT.collection.changed_last(workspace_id, limit=MAX_READ, by=caller)
    found = AGENT.collection.newest_readable(newest, limit=MAX_CHARACTERS, by=caller) if newest else {}
    return [found[one].config for one in newest if one in found]


def _models(config: Config) -> Iterator[Mapping[str, Any]]:
    model = config.get("model") or {}
    if isinstance(model, list):
        yield from (variant["value"] for variant in model)
    else:
        yield model


def _add(found: dict[str, str], provider: str, model: Mapping[str, Any] | None, where: str) -> None:
    named = model or {}
    name = named.get("name")
    if name and provider in {"", named.get("provider")}:
        found.setdefault(name, where)


def _used_in(config: Config) -> str:
    return _("used in %(name)s") % {"name": shortened(str(config.get("name") or "…"))}


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
                Choice.of(kind, suggestion)
                for suggestion in suggestions(kind.catalog(self.caller), text, MAX_CHOICES)
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
    sought = caseless(text)
    matching = [name for name in names if sought in caseless(name)]
    found = sorted(matching, key=lambda one: not caseless(one).startswith(sought))
    return [Choice(id=one, preview=shortened(names[one], MAX_PREVIEW)) for one in found[:MAX_CHOICES]]


def known_names(resource_id: str, controls: Iterable[ContextControl]) -> Mapping[str, list[str]]:
    """Return the tools that the agent can use by name, and the names in its context."""
    return {
        "tools": sorted(get_editor().code.tools_of(resource_id)),
        "context": [control.path for control in controls],
    }
