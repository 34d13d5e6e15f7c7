"""Agents as applications use them, and the preview of instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from editor_client.shared.instructions import BlockReport
from editor_client.shared.request_contexts import PARAMETER
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import parameters
from versioning.api.addresses import has_encoded_end
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.schemas import Json, NoticeAnswer, RecordStatus, RequestSchema, ResponseSchema, Source
from versioning.conf import get_editor
from versioning.domain.access import Action, Caller
from versioning.domain.agents import AGENT, PROMPT_BLOCK, InstructionBlock, Notice, ResolvedAgent
from versioning.domain.config import UNCHANGED, JsonObject
from versioning.domain.errors import Invalid, PartsUnavailable
from versioning.domain.selectors import Selector
from versioning.serving.answer_cache import list_dependencies


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
        Field(description="Why the block's `requestContextSchema` rejects the context."),
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
    selector: Annotated[JsonObject, Source(lambda agent: agent.selector.as_dict())]
    fallback: NoticeAnswer | None
    warnings: list[NoticeAnswer]
    blocks: Annotated[list[BlockUsed], Source(_stored_blocks)]


class BlockPart(ResponseSchema):
    """A prompt block before evaluation."""

    version_id: str
    content: Annotated[str, Source(lambda block: block.config["content"])]
    rules: Annotated[JsonObject | None, Source(lambda block: block.config.get("rules"))]


class AgentPartsAnswer(ResponseSchema):
    """An agent in parts, which clients evaluate themselves in a request context."""

    id: Annotated[str, Source("candidate.id")]
    resolved_version_id: Annotated[str | None, Source("candidate.version_id")]
    selector: Annotated[JsonObject, Source(lambda parts: parts.candidate.selector.as_dict())]
    source: Annotated[Literal["code", "stored"], Source("candidate.source")]
    config: Annotated[JsonObject, Field(description="The stored form of the evaluated fields.")]
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


class ServedAgentViewSet(EditorViewSet):
    """Agents with everything resolved: the version, the conditions, the instructions."""

    job = "Run agents"
    subject = "agent"
    query = {
        "list": (parameters.PARTIAL, parameters.CONTEXT),
        "retrieve": (*parameters.SELECTOR, parameters.FORM, parameters.CONTEXT),
        "parts": parameters.SELECTOR,
    }
    responses = {"list": AgentsById, "retrieve": ResolvedAgentAnswer, "parts": AgentPartsAnswer}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Run the checks of all views; retrieve an agent that was stored before `parts` was reserved."""
        if self.action == "parts" and has_encoded_end(request._request, "parts"):  # noqa: SLF001
            self.action = "retrieve"
        super().initial(request, *args, **kwargs)

    def list(self, request: Request) -> Response:
        """Return the published version of every agent that the caller may read, resolved, by id."""
        context = parameters.context(request.query_params)
        if not context:
            self.depends_on((AGENT.slug, None), (PROMPT_BLOCK.slug, None))
        agents = get_editor().agent.serve_all(context=context, by=self.caller)
        if not context:
            self.depends_on(*(dependency for agent in agents for dependency in agent.depends_on))
        answers = {agent.id: ResolvedAgentAnswer.dump(agent) for agent in agents}
        if request.query_params.get("partial") == "true":
            for agent in answers.values():
                del agent["instructions"], agent["blocks"]
        return Response(answers)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return the selected agent with everything resolved; by default the published version."""
        context = parameters.context(request.query_params)
        selector = parameters.selector(request.query_params)
        if "form" in request.query_params:
            return self.about(id, partial(_in_parts, selector))
        if PARAMETER not in request.query_params:
            return self.about(id, partial(_resolve, selector))
        with suppress(PartsUnavailable, Invalid):
            answer = self.in_context(id, partial(_in_parts, selector))
            if answer is not None:
                return answer
        agent = get_editor().serve(id, selector, context=context, by=self.caller, identity=None)
        return with_etag(request, ResolvedAgentAnswer.dump(agent))

    def parts(self, request: Request, id: str) -> Response:
        """Return the selected agent before evaluation, for clients that evaluate it in any context."""
        if self.action == "retrieve":
            return self.retrieve(request, f"{id}/parts")
        selector = parameters.selector(request.query_params)
        return with_etag(request, _in_parts(selector, id, self.caller, self.depends_on))


def _resolve(selector: Selector, agent_id: str, caller: Caller, depends_on: Callable[..., None]) -> Json:
    depends_on((AGENT.slug, agent_id))
    agent = get_editor().agent.serve(agent_id, selector, by=caller)
    depends_on(*list_dependencies(agent))
    return ResolvedAgentAnswer.dump(agent)


def _in_parts(selector: Selector, agent_id: str, caller: Caller, depends_on: Callable[..., None]) -> Json:
    depends_on((AGENT.slug, agent_id))
    parts = get_editor().agent.parts(agent_id, selector, by=caller)
    depends_on(*parts.depends_on)
    return AgentPartsAnswer.dump(parts)


class Previewed(NamedTuple):
    """Assembled instructions, the result for each block, and problems of the context."""

    result: str
    blocks: Sequence[BlockReport]
    warnings: Sequence[Notice] | None


class PreviewViewSet(EditorViewSet):
    """Instructions that are not saved."""

    job = "Edit agents"
    subject = "instruction"
    actions = {"preview": Action.READ}
    requests = {"preview": Preview}
    responses = {"preview": PreviewAnswer}

    def preview(self, request: Request) -> Response:
        """Assemble blocks in a context; referenced blocks are the latest that the caller may read."""
        body = Preview.read(request)
        prompts, context = get_editor().prompt, body.get("context")
        text, reports = prompts.preview(body["blocks"], context, by=self.caller)
        warnings = prompts.context_notices(reports, context) or None
        return Response(self.dump(Previewed(result=text, blocks=reports, warnings=warnings)))
