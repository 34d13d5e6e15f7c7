"""An agent as it is served, with everything resolved, and notices for its caller. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID

from editor_client.shared.instructions import BlockReport

from versioning.domain.selectors import Selector, Status

CONTEXT_INVALID: Final = "request_context_invalid"
"""The code of the notice, and of the error, for a context that `requestContextSchema` refuses."""


@dataclass(frozen=True)
class Notice:
    """Information for the caller although the request succeeded."""

    code: str
    message: str
    field: str | None = None
    placeholders: tuple[str, ...] = ()
    """The paths of placeholders that it is about."""
    position: int | None = None
    """How many characters precede the place in the text that it is about."""
    code_point: str | None = None
    """The character at that place, such as `U+200B`."""


@dataclass(frozen=True, kw_only=True)
class ResolvedAgent:
    """An agent as applications use it: one text of instructions, plain values, no conditions."""

    id: str
    uuid: UUID
    """The identity; a later agent with the same id has a different one."""
    name: str
    description: str | None
    instructions: str
    tools: Mapping[str, Any]
    agents: Mapping[str, Any]
    model: Mapping[str, Any] | None
    default_options: Mapping[str, Any]
    source: str
    """`code` if the agent is defined in code, overridden or not; otherwise `stored`."""
    status: Status
    metadata: Mapping[str, Any]
    resolved_version_id: str | None
    """None if no stored version is involved: the agent is as defined in code."""
    active_version_id: str | None
    is_live: bool
    """Whether this is what published requests get: the active version, the version of a released label
    that was asked for, or the agent as defined in code."""
    selector: Selector
    fallback: Notice | None = None
    warnings: tuple[Notice, ...] = ()
    blocks: tuple[BlockReport, ...] = ()
    """The result for each block of the instructions, inline ones included; empty for a plain text."""
    unresolved_blocks: tuple[str, ...] = ()
    """The prompt blocks whose selected version is missing, or not readable for the selecting caller."""
    outcome: Mapping[str, Any] | None = None
    """The outcome of the choice of its version (`versioning.serving.choice`); None without a chooser."""
    block_outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same for the prompt blocks that it refers to, by id."""
    resolved_version_number: int | None = None
    depends_on: tuple[tuple[str, str | None], ...] = ()
    """Its dependencies besides the agent and its blocks, because an application chooses their versions."""


class Involving(Protocol):
    """A result made from several agents."""

    @property
    def looked_up(self) -> Collection[str]:
        """The ids of all agents that were requested, existing or not."""

    @property
    def agents(self) -> Mapping[str, ResolvedAgent]:
        """The agents that were found, by id."""
