"""Running agents: the request and the answer of generate and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import json_or_python_schema
from typing_extensions import TypeAliasType

from versioning.api.schemas.base import Json, RequestSchema, ResponseSchema, SerializedBy
from versioning.api.schemas.common import NotEmpty, NoticeAnswer
from versioning.domain.config import NOT_BLANK, UNCHANGED, JsonObject
from versioning.runtime import Result
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
        for selector in overlays.registered()
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
    """The exact version in a lock, and the digest of its configuration; null is the code's."""

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
    """Describes a member in the document whose value the runtime itself reads and validates."""

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
    """An estimate of what models cost, by a price list or by `EDITOR_PRICES`."""

    amount: Annotated[str, Field(description="A decimal number.")]
    currency: Literal["USD"]
    estimate: Literal[True]
    prices_of: Annotated[
        str, Field(description="The date of the price list.", json_schema_extra={"format": "date"})
    ]


CostOrNull = Annotated[
    CostAnswer | None,
    Field(description="Of all models; null where the price of one is unknown."),
    SerializedBy(lambda cost: cost),
]


class RunTokens(Tokens):
    """The tokens of a run, sub-agents included, and what they cost."""

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
        Field(description="By agent that took part; null is the code's."),
    ]
    rollouts: Annotated[
        RunRollouts, Field(description="The arms in which the run is; only what has a rollout.")
    ]
    warnings: list[NoticeAnswer]

    @classmethod
    def dump(cls, source: Result) -> Json:
        """Return the result's own JSON form, the same that applications get in Python."""
        return source.as_dict()
