"""Agents as applications use them, and the answers of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from editor_client.result import CachedResult, Notice, Result


class ShownBlock(Result):
    """The result for one block of the instructions."""

    shown: bool
    type: str | None = None
    id: str | None = None
    version_id: str | None = None
    reason: str | None = None
    """Why it was left out: `rules`, `blank`, `missing` or `unpublished`."""
    rollout: Mapping[str, Any] | None = None
    """The request's arm of a rollout of the block, as `id`, `arm` and `reason`."""


class Preview(Result):
    """Instructions as they would be assembled."""

    result: str
    blocks: tuple[ShownBlock, ...]
    warnings: tuple[Notice, ...] = ()


class ServedAgent(CachedResult):
    """An agent as applications use it: version, conditions and instructions are resolved."""

    id: str
    name: str | None = None
    description: str | None = None
    instructions: str | None = None
    tools: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    provider: str | None = None
    model_id: str | None = None
    default_options: Mapping[str, Any] = field(default_factory=dict)
    source: Literal["code", "stored", "fallback"] | None = None
    """`fallback`: the application's own description, because there was no answer and nothing was cached."""
    status: Literal["published", "draft"] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resolved_version_id: str | None = None
    """None for an agent as defined in code."""
    active_version_id: str | None = None
    rollout: Mapping[str, Any] | None = None
    """The request's arm of a rollout, as `id`, `arm` and `reason`; None without one."""
    selector: Mapping[str, Any] | None = None
    fallback: Mapping[str, Any] | None = None
    warnings: tuple[Notice, ...] = ()
    blocks: tuple[ShownBlock, ...] = ()

    @property
    def shown_block_ids(self) -> tuple[str, ...]:
        """The prompt blocks in the instructions, shown in this context or not."""
        return tuple(dict.fromkeys(block.id for block in self.blocks if block.id is not None))


class AgentParts(CachedResult):
    """An agent before evaluation: `editor_client.parts.evaluate` makes it a served one."""

    id: str
    source: Literal["code", "stored"] | None = None
    status: Literal["published", "draft"] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resolved_version_id: str | None
    """None for an agent as defined in code."""
    active_version_id: str | None = None
    selector: Mapping[str, Any] | None = None
    fallback: Mapping[str, Any] | None = None
    config: Mapping[str, Any]
    prompt_blocks: Mapping[str, Any]
    """The blocks that it refers to, by id; None for one that is left out."""
    omitted_blocks: Mapping[str, Any] = field(default_factory=dict)
    """Why they are left out."""
    rollout: Mapping[str, Any] | None = None
    block_rollouts: Mapping[str, Any] = field(default_factory=dict)
    request_context_schema: Mapping[str, Any] | None = None

    @property
    def shown_block_ids(self) -> tuple[str, ...]:
        """The prompt blocks that are shown in some context."""
        return tuple(self.prompt_blocks)


class ModelProvider(Result):
    """A provider that agents may name in their model."""

    name: str
    kind: str
    """A built-in provider, or `code` for one that the server's project defines."""
    ready: bool
    missing: str | Mapping[str, Any] | None = None
    """The first variable that is not set; `{"extra": …}` for a package that is not installed; or None."""


class ProviderList(Result):
    """The providers that agents may name, by name."""

    providers: tuple[ModelProvider, ...]


class Generated(Result):
    """The answer of an agent, with details of the run."""

    text: str
    finish_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_results: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    run_id: str | None = None
    resolved_versions: Mapping[str, str | None] = field(default_factory=dict)
    rollouts: Mapping[str, Any] = field(default_factory=dict)
    """The run's arms of rollouts, by `agents` and `promptBlocks` and then by id."""
    warnings: tuple[Notice, ...] = ()
