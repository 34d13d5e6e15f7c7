"""Overrides of code-defined agents: what they may hold, and how they lie over the code. Pure.

An override changes what an agent says and which tools it has; its name, description and model
stay the code's. How much of that may be changed is the code's decision too: its `editor` ownership.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from editor_client.shared import canonical

from versioning.domain.config import Config
from versioning.domain.errors import Issue

APPLIED_FIELDS = ("instructions", "tools", "integrationTools", "mcpClients", "requestContextSchema")
"""The fields that an override can change; others are kept with the version and never applied."""


IN_CODE: Final = UUID(int=0)
"""The identity of whatever code defines under an id; stored resources have identities of their own."""


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """What the code lets an override change."""

    instructions: bool
    tools: bool
    """Whether tools can be added, and described anew."""
    tool_descriptions: bool
    """Whether the tools that the code has can be described anew."""

    @classmethod
    def of(cls, editor: Any) -> Ownership:
        """Return the ownership that `Agent(editor=…)` spells.

        None = instructions and tools may be overridden; False = nothing;
        `{"instructions": bool, "tools": bool | {"description": bool}}` = just these.
        Raises `ValueError` for anything else.
        """
        if editor is None:
            return cls(instructions=True, tools=True, tool_descriptions=True)
        if editor is False:
            return cls(instructions=False, tools=False, tool_descriptions=False)
        members = dict(editor) if isinstance(editor, Mapping) else {"editor": editor}
        instructions = members.pop("instructions", False)
        tools = members.pop("tools", False)
        descriptions = tools.get("description") if isinstance(tools, Mapping) and len(tools) == 1 else tools
        if members or not isinstance(instructions, bool) or not isinstance(descriptions, bool):
            allowed = 'None, False or {"instructions": bool, "tools": bool | {"description": bool}}'
            raise ValueError(f"editor must be {allowed}, not {editor!r}")
        return cls(instructions=instructions, tools=tools is True, tool_descriptions=descriptions)


class CodeAgent(Protocol):
    """An agent as its code defines it; `versioning.runtime.Agent` is one."""

    @property
    def id(self) -> str:
        """The id that its overrides share."""

    @property
    def name(self) -> str:
        """The name for people."""

    @property
    def description(self) -> str:
        """What it is for."""

    @property
    def instructions(self) -> str | list[dict[str, Any]] | None:
        """Text, or blocks; None where the code leaves them to the editor."""

    @property
    def model(self) -> Mapping[str, Any] | None:
        """Provider and name."""

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """Its tools, by name."""

    @property
    def sub_agent_ids(self) -> tuple[str, ...]:
        """The agents that it can delegate to."""

    @property
    def ownership(self) -> Ownership:
        """What an override may change."""

    @property
    def visibility(self) -> str:
        """`public` or `private`."""

    @property
    def default_options(self) -> Mapping[str, Any]:
        """Options for each run."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Whatever the application keeps with it."""


def code_config(agent: CodeAgent) -> Config:
    """Return a code-defined agent in the form of a snapshot's configuration."""
    config: Config = {
        "name": agent.name,
        "description": agent.description or None,
        "instructions": agent.instructions,
        "model": dict(agent.model) if agent.model else None,
        "tools": {name: {"description": text} for name, text in agent.tool_descriptions.items()} or None,
        "agents": {sub_agent: {} for sub_agent in agent.sub_agent_ids} or None,
        "defaultOptions": dict(agent.default_options) or None,
    }
    return {field: value for field, value in config.items() if value is not None}


def applied(agent: CodeAgent, override: Config) -> Config:
    """Return the fields of an override that count, cut down to what the code lets it change."""
    named = (field for field in APPLIED_FIELDS if field in override)
    allowed = {field: _allowed(agent, field, override[field]) for field in named}
    return {field: value for field, value in allowed.items() if value is not None}


def laid_over(agent: CodeAgent, override: Config) -> Config:
    """Return the whole configuration with the override applied; stored tools lie over the code's."""
    base = code_config(agent)
    counted = applied(agent, override)
    if "tools" in counted:
        counted["tools"] = _tools_over(base.get("tools", {}), counted["tools"])
    return {**base, **counted}


def changeable(agent: CodeAgent) -> list[str]:
    """Return the fields that an override of this agent can change, wholly or in part."""
    ownership = agent.ownership
    is_open = {
        # The schema describes what the templates in the instructions ask for.
        **dict.fromkeys(("instructions", "requestContextSchema"), ownership.instructions),
        "tools": ownership.tools or ownership.tool_descriptions,
        **dict.fromkeys(("integrationTools", "mcpClients"), ownership.tools),
    }
    return [field for field in APPLIED_FIELDS if is_open[field]]


def not_applied(override: Config) -> list[str]:
    """Return the fields that are kept with the version and never applied."""
    return [field for field in override if field not in APPLIED_FIELDS]


def withheld(agent: CodeAgent, override: Config) -> list[str]:
    """Return the fields that an override file of this agent may not hold."""
    return [
        field
        for field, value in override.items()
        if field not in APPLIED_FIELDS or _allowed(agent, field, value) is None
    ]


def refused(agent: CodeAgent, changes: Mapping[str, Any]) -> list[Issue]:
    """Return a problem for every changed field that the code's ownership withholds.

    A field that says just what the code says, or that is cleared, is no change.
    """
    base = code_config(agent)
    return [
        Issue(field, "belongs to the code of this agent")
        for field, value in changes.items()
        if field in APPLIED_FIELDS
        and value is not None
        and not canonical.same(value, base.get(field))
        and not canonical.same(value, _allowed(agent, field, value))
    ]


def _allowed(agent: CodeAgent, field: str, value: Any) -> Any:
    """Return what the code lets an override say in this field; None when nothing."""
    if field not in changeable(agent):
        return None
    if field != "tools" or agent.ownership.tools:
        return value
    if isinstance(value, list):
        return [{**variant, "value": _descriptions(agent, variant["value"])} for variant in value]
    return _descriptions(agent, value)


def _descriptions(agent: CodeAgent, tools: Mapping[str, Any]) -> dict[str, Any]:
    """Return the descriptions of tools that the code has, without anything else."""
    return {
        name: {"description": usage["description"]}
        for name, usage in tools.items()
        if name in agent.tool_descriptions and usage.get("description") is not None
    }


def _tools_over(base: Mapping[str, Any], tools: Any) -> Any:
    """Return the stored tools over the code's, as variants when the stored ones are variants."""
    if isinstance(tools, list):
        stored = ({**variant, "value": _described(base, variant["value"])} for variant in tools)
        return [{"value": dict(base)}, *stored]
    return {**base, **_described(base, tools)}


def _described(base: Mapping[str, Any], tools: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored tools, each with the code's description where it has none of its own."""
    return {name: {**base.get(name, {}), **_without_nulls(usage)} for name, usage in tools.items()}


def _without_nulls(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in usage.items() if value is not None}
