"""What is served: an agent with everything resolved, and what its caller should know. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from editor_client.shared.instructions import BlockReport

from versioning.domain.selectors import Selector, Status

CONTEXT_INVALID: Final = "request_context_invalid"
"""The code of the notices, and of the error, about a context that `requestContextSchema` refuses."""


@dataclass(frozen=True)
class Notice:
    """Something the caller should know although the request succeeded."""

    code: str
    message: str
    field: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResolvedAgent:
    """An agent as applications use it: one text of instructions, plain values, nothing conditional."""

    id: str
    uuid: UUID
    """Which agent it is: another one that takes the same id later has another."""
    name: str
    description: str | None
    instructions: str
    tools: Mapping[str, Any]
    agents: Mapping[str, Any]
    model: Mapping[str, Any] | None
    default_options: Mapping[str, Any]
    source: str
    """`code` when the agent is defined in code, overridden or not; else `stored`."""
    status: Status
    metadata: Mapping[str, Any]
    resolved_version_id: str | None
    """None when no stored version takes part: the agent is as its code says."""
    active_version_id: str | None
    is_live: bool
    """Whether it is what published requests get: the active version, one that was asked for by a
    released label, or the agent as its code says."""
    selector: Selector
    fallback: Notice | None = None
    warnings: tuple[Notice, ...] = ()
    blocks: tuple[BlockReport, ...] = ()
    """What became of each block of the instructions, inline ones included; none for a plain text."""
