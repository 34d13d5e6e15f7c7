"""The tools and models that code declares, or that agents of a workspace use: what their pickers offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from studio.forms.wording import PROVIDERS
from studio.kinds import AGENT
from studio.limits import shortened
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.agents import referenced_tools
from versioning.domain.config import Config

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
    """Return the providers that the installation can run; others can be typed."""
    return dict.fromkeys(PROVIDERS, "")


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
