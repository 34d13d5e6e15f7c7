"""Overrides of code-defined agents: their contents, and applying them to the code. Pure.

An override changes the instructions and tools of an agent; name, description and model stay as in the code.
The ownership in `Agent(editor=…)` can limit this further.
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
"""The fields that an override changes; other fields are saved with the version but never applied."""


IN_CODE: Final = UUID(int=0)
"""The identity of code-defined agents in the log; stored resources have their own."""


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """The parts of an agent that an override may change."""

    instructions: bool
    tools: bool
    """Whether tools can be added and descriptions changed."""
    tool_descriptions: bool
    """Whether the descriptions of the code's own tools can be changed."""

    @classmethod
    def of(cls, editor: Any) -> Ownership:
        """Return the ownership for the value of `Agent(editor=…)`.

        None: instructions and tools may be overridden. False: nothing. `{"instructions": bool, "tools":
        bool | {"description": bool}}`: just these. Raises `ValueError` for anything else.
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
    """An agent as defined in code; `versioning.runtime.Agent` implements it."""

    @property
    def id(self) -> str:
        """Its id, which its override shares."""

    @property
    def name(self) -> str:
        """The name for people."""

    @property
    def description(self) -> str:
        """Its purpose."""

    @property
    def instructions(self) -> str | list[dict[str, Any]] | None:
        """A text, or blocks; None if the code leaves the instructions to the editor."""

    @property
    def model(self) -> Mapping[str, Any] | None:
        """Provider and name."""

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """The descriptions of its tools, by name."""

    @property
    def sub_agent_ids(self) -> tuple[str, ...]:
        """The agents that it can delegate to."""

    @property
    def ownership(self) -> Ownership:
        """The parts that an override may change."""

    @property
    def visibility(self) -> str:
        """`public` or `private`."""

    @property
    def default_options(self) -> Mapping[str, Any]:
        """Options for each run."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Free metadata of the application."""


def code_config(agent: CodeAgent) -> Config:
    """Return a code-defined agent as the configuration of a snapshot."""
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


def apply_override(agent: CodeAgent, override: Config) -> Config:
    """Return the fields of an override that apply, within the limits of the code."""
    fields = (field for field in APPLIED_FIELDS if field in override)
    allowed = {field: _limit_value(agent, field, override[field]) for field in fields}
    return {field: value for field, value in allowed.items() if value is not None}


def merged_config(agent: CodeAgent, override: Config) -> Config:
    """Return the complete configuration with the override applied; stored tools replace the code's."""
    base = code_config(agent)
    counted = apply_override(agent, override)
    if "tools" in counted:
        base_tools, tools = base.get("tools", {}), counted["tools"]
        if isinstance(tools, list):  # variants, like the stored ones
            stored = (
                {**variant, "value": _add_descriptions(base_tools, variant["value"])} for variant in tools
            )
            counted["tools"] = [{"value": dict(base_tools)}, *stored]
        else:
            counted["tools"] = {**base_tools, **_add_descriptions(base_tools, tools)}
    return {**base, **counted}


def changeable(agent: CodeAgent) -> list[str]:
    """Return the fields that an override of this agent can change, completely or in part."""
    ownership = agent.ownership
    is_open = {
        # Templates in the instructions use the members that the schema describes.
        **dict.fromkeys(("instructions", "requestContextSchema"), ownership.instructions),
        "tools": ownership.tools or ownership.tool_descriptions,
        **dict.fromkeys(("integrationTools", "mcpClients"), ownership.tools),
    }
    return [field for field in APPLIED_FIELDS if is_open[field]]


def not_applied(override: Config) -> list[str]:
    """Return the fields that are saved with the version but never applied."""
    return [field for field in override if field not in APPLIED_FIELDS]


def withheld(agent: CodeAgent, override: Config) -> list[str]:
    """Return the fields that an override file of this agent must not contain."""
    return [
        field
        for field, value in override.items()
        if field not in APPLIED_FIELDS or _limit_value(agent, field, value) is None
    ]


def find_refused_changes(agent: CodeAgent, changes: Mapping[str, Any]) -> list[Issue]:
    """Return an issue for each changed field that the code does not allow to change.

    Clearing a field, or setting it to the code's own value, is not a change.
    """
    base = code_config(agent)
    return [
        Issue(field, "belongs to the code of this agent")
        for field, value in changes.items()
        if field in APPLIED_FIELDS
        and value is not None
        and not canonical.same(value, base.get(field))
        and not canonical.same(value, _limit_value(agent, field, value))
    ]


def _limit_value(agent: CodeAgent, field: str, value: Any) -> Any:
    """Return the part of the field that the code allows an override to set, or None."""
    if field not in changeable(agent):
        return None
    if field != "tools" or agent.ownership.tools:
        return value
    if isinstance(value, list):
        return [{**variant, "value": _descriptions(agent, variant["value"])} for variant in value]
    return _descriptions(agent, value)


def _descriptions(agent: CodeAgent, tools: Mapping[str, Any]) -> dict[str, Any]:
    """Return the descriptions of tools in code, without others."""
    return {
        name: {"description": usage["description"]}
        for name, usage in tools.items()
        if name in agent.tool_descriptions and usage.get("description") is not None
    }


def _add_descriptions(base: Mapping[str, Any], tools: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored tools; those without a description get the code's."""
    return {
        name: {
            **base.get(name, {}),
            **{member: value for member, value in usage.items() if value is not None},
        }
        for name, usage in tools.items()
    }
