"""Running agents: generate, and stream as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import json_or_python_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from versioning.api import idempotency, parameters
from versioning.api.base import EditorViewSet
from versioning.api.idempotency import StreamRecord
from versioning.api.limits import waits_for_models
from versioning.api.schemas import Json, NotEmpty, NoticeAnswer, RequestSchema, ResponseSchema, SerializedBy
from versioning.conf import get_framework
from versioning.domain.access import Action
from versioning.domain.config import NOT_BLANK, UNCHANGED, JsonObject
from versioning.domain.selectors import PUBLISHED
from versioning.models import storage
from versioning.runtime import EventStream, RequestContext, Result
from versioning.serving import overlays


class ChatText(RequestSchema):
    """A part of the text of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(RequestSchema):
    """A message of a conversation; a user's is not blank."""

    role: Literal["user", "assistant", "system"]
    content: str | Annotated[list[ChatText], Field(min_length=1)]


class StatusSelector(RequestSchema):
    """The version with this status."""

    status: Literal["published", "draft"]


class VersionIdSelector(RequestSchema):
    """Exactly this version."""

    version_id: NotEmpty


class LabelSelector(RequestSchema):
    """The version with this label."""

    label: NotEmpty


if TYPE_CHECKING:
    VersionSelector = StatusSelector | VersionIdSelector | LabelSelector
else:
    _added = (
        create_model(
            f"{selector.name.capitalize()}Selector",
            __base__=RequestSchema,
            __doc__=selector.description,
            **{selector.name: (NotEmpty, ...)},
        )
        for selector in overlays.list_selectors()
    )
    VersionSelector = TypeAliasType(
        "VersionSelector", Union[StatusSelector, VersionIdSelector, LabelSelector, *_added]
    )


class Versions(RequestSchema):
    """The versions to run: of agents and blocks by id, of the called agent, and of all other agents."""

    agents: dict[str, VersionSelector] = UNCHANGED
    prompt_blocks: dict[str, VersionSelector] = UNCHANGED
    self_: Annotated[VersionSelector, Field(alias="self")] = UNCHANGED
    default_status: Literal["published", "draft"] = UNCHANGED
    strict: Annotated[
        bool, Field(description="Whether a version that cannot be resolved is an error, not a warning.")
    ] = UNCHANGED


class PinnedVersion(RequestSchema):
    """The exact version in a lock and the digest of its configuration; null for the code's version."""

    version_id: str | None
    digest: str


class SentLock(RequestSchema):
    """A lock as returned by `POST /locks`."""

    lock_version: int
    digest: str
    signature: str
    agents: dict[str, PinnedVersion]
    prompt_blocks: dict[str, PinnedVersion]


class RunSettings(RequestSchema):
    """Settings of the model; the agent's own apply where they are absent or null."""

    temperature: float | None = None
    max_tokens: int | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    stop_sequences: list[str] | None = None
    timeout: float | None = None
    max_retries: int | None = None


class Described:
    """Describes a member in the OpenAPI document; the runtime reads and validates its value."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that accepts the annotated type and is described as the given shape."""
        return json_or_python_schema(handler.generate_schema(self.shape), handler(source))


Messages = TypeAliasType(
    "Messages",
    Annotated[str, NOT_BLANK] | ChatMessage | Annotated[list[ChatMessage], Field(min_length=1)],
)


class Run(RequestSchema):
    """The body of generate and stream."""

    messages: Annotated[
        Any,
        Described(Messages),
        Field(description="Text, a message, or a list of messages that ends with the user's."),
    ]
    versions: Annotated[JsonObject, Described(Versions | SentLock)] | None = None
    request_context: JsonObject | None = None
    max_steps: Annotated[int, Field(json_schema_extra={"minimum": 1})] | None = None
    model_settings: Annotated[JsonObject, Described(RunSettings)] | None = None
    instructions: Annotated[str, NOT_BLANK] | None = None


class Tokens(ResponseSchema):
    """The tokens of an answer of a model."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class CostAnswer(ResponseSchema):
    """An estimate of the cost of models, by a price list or by `EDITOR_PRICES`."""

    amount: Annotated[str, Field(description="A decimal number.")]
    currency: Literal["USD"]
    estimate: Literal[True]
    prices_of: Annotated[
        str, Field(description="The date of the price list.", json_schema_extra={"format": "date"})
    ]


CostOrNull = Annotated[
    CostAnswer | None,
    Field(description="Of all models; null if the price of one is unknown."),
    SerializedBy(lambda cost: cost),
]


class RunTokens(Tokens):
    """The tokens of a run, including sub-agents, and their cost."""

    cost: CostOrNull


class ToolCall(ResponseSchema):
    """A tool call by the model; a delegation to a sub-agent is one too."""

    tool_call_id: str
    tool_name: str
    args: JsonObject


class ToolResult(ResponseSchema):
    """The result of a tool."""

    tool_call_id: str
    tool_name: str
    result: Any


class RunStep(ResponseSchema):
    """One answer of the model."""

    text: str
    finish_reason: str
    tool_calls: list[ToolCall]
    tool_results: list[ToolResult]
    usage: Tokens


class Turn(ResponseSchema):
    """A message of the conversation, in the form that the next call takes."""

    role: Literal["user", "assistant", "system"]
    content: str


class RunRollouts(ResponseSchema):
    """The arms of rollouts that a run belongs to, by id."""

    agents: dict[str, JsonObject]
    prompt_blocks: dict[str, JsonObject]


class RunAnswer(ResponseSchema):
    """The answer of an agent, with details of the run."""

    text: str
    finish_reason: str
    usage: RunTokens
    steps: list[RunStep]
    tool_calls: list[ToolCall]
    tool_results: list[ToolResult]
    messages: list[Turn]
    run_id: str
    resolved_versions: Annotated[
        dict[str, str | None],
        Field(description="The versions that ran, by agent; null for the agent as defined in code."),
    ]
    rollouts: Annotated[
        RunRollouts, Field(description="The arms of the run, only for resources with a rollout.")
    ]
    warnings: list[NoticeAnswer]

    @classmethod
    def dump(cls, source: Result) -> Json:
        """Return the result's JSON form, the same as in Python."""
        return source.as_dict()


HEARTBEAT = 0.5
"""Seconds of silence after which a comment is sent; a server notices a disconnect only when it writes."""

PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


class AnyAccept(DefaultContentNegotiation):
    """Accepts any `Accept` header: a stream consists of events, and errors of the call are JSON."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the only renderer."""
        return renderers[0], renderers[0].media_type


class RunViewSet(EditorViewSet):
    """Running agents."""

    job = "Run agents"
    subject = "agent"
    actions = dict.fromkeys(("generate", "stream"), Action.RUN)
    content_negotiation_class = AnyAccept
    query = dict.fromkeys(("generate", "stream"), (*parameters.SELECTOR, parameters.CONTEXT))
    requests = {"generate": Run, "stream": Run}
    responses = {"generate": RunAnswer}
    answers = {"stream": ("text/event-stream",)}

    @waits_for_models
    def generate(self, request: Request, id: str) -> Response:
        """Run the agent on the messages and return its answer."""
        return Response(self.dump(get_framework().generate(id, **self._call(request))))

    @waits_for_models
    def stream(self, request: Request, id: str) -> StreamingHttpResponse:
        """Run the agent and send its events as they happen."""
        framework, call = get_framework(), self._call(request)
        if isinstance(request._request, ASGIRequest):  # noqa: SLF001  the interface decides, not the caller
            events = framework.astream(id, heartbeat=HEARTBEAT, **call)
            async_to_sync(_raise_call_errors)(events)
            content: Any = _async_frames(events, idempotency.record_stream(request, end=DONE))
        else:
            started = framework.stream(id, heartbeat=HEARTBEAT, **call)
            content = _frames(started, idempotency.record_stream(request, end=DONE))
        # Everything needed from the database has been read; a stream must not hold a connection of the
        # pool.
        storage.give_back()
        headers = {"X-Accel-Buffering": "no"}
        return StreamingHttpResponse(content, content_type="text/event-stream", headers=headers)

    def _call(self, request: Request) -> dict[str, Any]:
        body = Run.read(request)
        values = body.get("requestContext") or parameters.context(request.query_params)
        selector_names = {name for name in parameters.SELECTOR_NAMES if name in request.query_params}
        return {
            "messages": body["messages"],
            "default": PUBLISHED,
            "selector": parameters.selector(request.query_params) if selector_names else None,
            "versions": body.get("versions"),
            "request_context": RequestContext.of(values, by=self.caller),
            "max_steps": body.get("maxSteps"),
            "model_settings": body.get("modelSettings"),
            "instructions": body.get("instructions"),
        }


def frame(event: dict[str, Any] | None) -> bytes:
    """Return an event as a server-sent event; None gives a comment that keeps the connection alive."""
    if event is None:
        return PING
    return b"data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


async def _raise_call_errors(events: EventStream[Any]) -> None:
    """Raise errors of the call now, while the status of the answer can still be set."""
    await events


def _frames(events: Any, record: StreamRecord | None) -> Iterator[bytes]:
    try:
        for event in events:
            yield _recorded(event, record)
        yield DONE
        if record is not None:
            record.complete()
    finally:
        events.close()
        if record is not None:
            record.end()


async def _async_frames(events: EventStream[Any], record: StreamRecord | None) -> AsyncIterator[bytes]:
    try:
        async for event in events:
            yield _recorded(event, record)
        yield DONE
        if record is not None:
            record.complete()
    finally:
        await events.aclose()
        if record is not None:
            record.end()


def _recorded(event: dict[str, Any] | None, record: StreamRecord | None) -> bytes:
    """Return the frame of an event, and add it to the record; comments are not repeated."""
    content = frame(event)
    if record is not None and event is not None:
        record.add(content, is_failure=event["type"] == "error")
    return content
