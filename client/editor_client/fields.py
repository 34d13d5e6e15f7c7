"""The fields of a snapshot, as members of results and as arguments of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict

from editor_client.result import Result, members

Blocks = Sequence[Mapping[str, Any]]
Object = Mapping[str, Any]
Conditional = Object | Sequence[Object]
"""An object, or a list of variants of it: `[{"value", "rules"?}]`."""
Instructions = str | list[dict[str, Any]]
"""Text, or blocks: `{"type": "text" | "prompt_block" | "prompt_block_ref", …}`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedFields(Result):
    """The fields that snapshots of both kinds have; None for one that is not set."""

    name: str | None = None
    description: str | None = None
    request_context_schema: Mapping[str, Any] | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The snapshot alone, with JSON names, as in an export."""
        return {name: self.raw[name] for name in snapshot_names(type(self)) if name in self.raw}


class SharedArguments(TypedDict, total=False):
    """The snapshot fields that both kinds accept; None clears a field."""

    name: str
    description: str | None
    request_context_schema: Object | None


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentFields(SharedFields):
    """The fields of an agent's snapshot. Most can be a value or a list of variants."""

    instructions: Instructions | None = None
    model: Any = None
    tools: Any = None
    agents: Any = None
    workflows: Any = None
    scorers: Any = None
    integration_tools: Any = None
    tool_providers: Any = None
    mcp_clients: Any = None
    default_options: Any = None
    input_processors: Any = None
    output_processors: Any = None
    memory: Any = None
    skills: Any = None
    workspace: Any = None
    browser: Any = None


class AgentArguments(SharedArguments, total=False):
    """The fields of an agent's snapshot as arguments."""

    instructions: str | Blocks
    model: Conditional | None
    tools: Conditional | None
    agents: Conditional | None
    workflows: Conditional | None
    scorers: Conditional | None
    integration_tools: Conditional | None
    tool_providers: Conditional | None
    mcp_clients: Conditional | None
    default_options: Conditional | None
    input_processors: Conditional | None
    output_processors: Conditional | None
    memory: Conditional | None
    skills: Conditional | None
    workspace: Conditional | None
    browser: Conditional | None


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockFields(SharedFields):
    """The fields of a prompt block's snapshot."""

    content: str | None = None
    rules: Mapping[str, Any] | None = None


class PromptBlockArguments(SharedArguments, total=False):
    """The snapshot fields of a prompt block."""

    content: str
    rules: Object | None


@lru_cache
def snapshot_names(result: type[Result]) -> tuple[str, ...]:
    """Return the JSON names of the snapshot fields that a result has."""
    kind = AgentFields if issubclass(result, AgentFields) else PromptBlockFields
    return tuple(member.json_name for member in members(kind))
