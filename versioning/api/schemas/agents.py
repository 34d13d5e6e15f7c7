"""Agents as applications use them, and the preview of instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, RootModel

from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source
from versioning.api.schemas.common import NoticeAnswer, RecordStatus
from versioning.domain.agents import InstructionBlock
from versioning.domain.config import UNCHANGED, JsonObject
from versioning.domain.resolved_agent import ResolvedAgent


class Preview(RequestSchema):
    """The body of the preview of instructions."""

    blocks: list[InstructionBlock]
    context: JsonObject = UNCHANGED


class BlockShown(ResponseSchema):
    """The result for one block of a preview."""

    type: str
    shown: bool
    id: str = UNCHANGED
    reason: str = UNCHANGED


class PreviewAnswer(ResponseSchema):
    """Assembled instructions."""

    result: str
    blocks: list[BlockShown]
    warnings: Annotated[
        list[NoticeAnswer],
        Field(description="What the `requestContextSchema` of a block has against the context."),
    ] = []


OutcomeOrNull = Annotated[
    JsonObject | None, Field(description="The arm of a rollout: null without one, and for a selector.")
]


class BlockUsed(ResponseSchema):
    """A prompt block that an agent's instructions refer to."""

    id: str
    version_id: str | None
    shown: bool
    reason: Annotated[str | None, Field(description="missing, unpublished, rules or blank")]
    rollout: OutcomeOrNull


def _model_member(name: str) -> Source:
    def of(agent: ResolvedAgent) -> Any:
        return agent.model.get(name) if agent.model else None

    return Source(of)


def _selector(agent: ResolvedAgent) -> dict[str, str]:
    return agent.selector.as_dict()


class _StoredBlock(NamedTuple):
    id: str
    version_id: str | None
    shown: bool
    reason: str | None
    rollout: Mapping[str, Any] | None


def _stored_blocks(agent: ResolvedAgent) -> list[_StoredBlock]:
    return [
        _StoredBlock(
            block.id, block.version_id, block.shown, block.reason, agent.block_outcomes.get(block.id)
        )
        for block in agent.blocks
        if block.id is not None
    ]


class ResolvedAgentAnswer(ResponseSchema):
    """An agent as applications use it."""

    id: str
    name: str
    description: str | None
    instructions: str
    tools: dict[str, JsonObject]
    agents: dict[str, JsonObject]
    model: JsonObject | None
    provider: Annotated[str | None, _model_member("provider")]
    model_id: Annotated[str | None, _model_member("name")]
    default_options: JsonObject
    source: Literal["code", "stored"]
    status: Annotated[RecordStatus, Source("status.value")]
    metadata: JsonObject
    resolved_version_id: str | None
    active_version_id: str | None
    rollout: Annotated[OutcomeOrNull, Source("outcome")]
    selector: Annotated[JsonObject, Source(_selector)]
    fallback: NoticeAnswer | None
    warnings: list[NoticeAnswer]
    blocks: Annotated[list[BlockUsed], Source(_stored_blocks)]


class BlockPart(ResponseSchema):
    """A prompt block before evaluation."""

    version_id: str
    content: Annotated[str, Source(lambda block: block.config["content"])]
    rules: Annotated[JsonObject | None, Source(lambda block: block.config.get("rules"))]


class AgentPartsAnswer(ResponseSchema):
    """An agent in parts: what clients evaluate themselves in a request context."""

    id: Annotated[str, Source("candidate.id")]
    resolved_version_id: Annotated[str | None, Source("candidate.version_id")]
    selector: Annotated[JsonObject, Source(lambda parts: parts.candidate.selector.as_dict())]
    source: Annotated[Literal["code", "stored"], Source("candidate.source")]
    config: Annotated[JsonObject, Field(description="The fields that are evaluated, as they are stored.")]
    prompt_blocks: Annotated[dict[str, BlockPart | None], Source("shown")]
    rollout: Annotated[JsonObject | None, Source("rule")]
    block_rollouts: Annotated[dict[str, JsonObject], Source("block_rules")]
    request_context_schema: JsonObject | None
    status: Annotated[RecordStatus, Source("candidate.status.value")]
    metadata: Annotated[JsonObject, Source("candidate.metadata")]
    active_version_id: Annotated[str | None, Source("candidate.active_version_id")]
    fallback: Annotated[NoticeAnswer | None, Source("candidate.fallback")]
    omitted_blocks: Annotated[
        dict[str, Literal["missing", "unpublished"]],
        Field(description="Why a prompt block is null: the reason in the evaluated answer."),
        Source("omitted"),
    ]


class ListedAgentAnswer(ResolvedAgentAnswer):
    """An agent as applications use it; `partial=true` leaves out the instructions and the blocks."""

    instructions: str = UNCHANGED
    blocks: Annotated[list[BlockUsed], Source(_stored_blocks)] = []


class AgentsById(RootModel[dict[str, ListedAgentAnswer]]):
    """Agents, by id."""
