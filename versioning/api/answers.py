"""The shapes of the answers, for the OpenAPI document; `versioning.api.wire` makes the answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, RootModel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from typing_extensions import TypeAliasType

from versioning.domain import fields
from versioning.domain.fields import JsonObject, Shape

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
RecordStatus = TypeAliasType("RecordStatus", Literal["published", "draft"])
VersionState = TypeAliasType("VersionState", Literal["published", "draft", "historical"])
VersionSource = TypeAliasType("VersionSource", Literal["database", "git", "file"])


class Answer(Shape):
    """A shape whose members with a default may be missing, and are never null."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the members; an edit of the same fields takes null, which clears one."""
        described = handler(schema)
        members = handler.resolve_ref_schema(described)
        required = members.get("required", [])
        for name, member in members["properties"].items():
            if name not in required:
                members["properties"][name] = _without_null(member)
        return described


def _without_null(member: JsonSchemaValue) -> JsonSchemaValue:
    match member:
        case {"type": [kind, "null"]}:
            return {**member, "type": kind}
        case {"anyOf": [only, {"type": "null"}], **more}:
            return {**only, **more}
    return member


class IssueAnswer(Answer):
    """One fault of one field."""

    field: str
    message: str


class Named(Answer):
    """An agent by id and name."""

    id: str
    name: str


class CurrentState(Answer):
    """What a resource looks like now, in the answer to a save from a stale base."""

    latest_version_id: str
    active_version_id: str | None
    saved_by: str | None
    saved_at: Time
    changed_fields: list[str]


class ErrorAnswer(Answer):
    """What went wrong: a sentence for people, a stable code for programs."""

    error: str
    code: str
    issues: list[IssueAnswer] = []
    current: CurrentState | None = None
    dependents: list[Named] = []
    hidden_count: int = 0


class NoticeAnswer(Shape):
    """Something worth knowing although the request succeeded."""

    code: str
    message: str
    field: str | None = None


class Record(Answer):
    """A resource: its record, flat, with the fields of the resolved version."""

    id: str
    workspace_id: str
    status: RecordStatus
    active_version_id: str | None
    latest_version_id: Annotated[str | None, Field(description="Null for who may not read drafts.")]
    resolved_version_id: str | None
    has_draft: Annotated[bool | None, Field(description="Null for who may not read drafts.")]
    author_id: str | None
    metadata: JsonObject
    created_at: Time
    updated_at: Time
    warnings: Annotated[list[NoticeAnswer], Field(description="In the answer to a save only.")] = []


class AgentRecord(Record, fields.AgentFields):
    """A stored agent."""

    visibility: fields.Visibility
    is_favorited: Annotated[bool, Field(description="Whether it is a favorite of the caller's.")]
    favorite_count: Annotated[int, Field(ge=0, description="How many people have marked it.")]


class PromptBlockRecord(Record, fields.PromptBlockConfig):
    """A prompt block."""


class VersionRecord(Answer):
    """A version, with its configuration at top level."""

    id: str
    version_number: Annotated[int, Field(ge=0, description="0 for an override file that is not committed.")]
    changed_fields: list[str]
    change_message: str
    author_id: str | None
    created_at: Time
    source: VersionSource
    author_name: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    commit: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    read_only: bool
    state: VersionState
    labels: list[str]


class AgentVersionRecord(VersionRecord, fields.AgentFields):
    """A version of an agent."""

    agent_id: str


class PromptBlockVersionRecord(VersionRecord, fields.PromptBlockConfig):
    """A version of a prompt block."""

    block_id: str


class PageOf(Answer):
    """Where in a list an answer stands."""

    total: int
    page: int
    per_page: int
    has_more: bool


class AgentPage(PageOf):
    """A page of stored agents."""

    agents: list[AgentRecord]


class PromptBlockPage(PageOf):
    """A page of prompt blocks."""

    prompt_blocks: list[PromptBlockRecord]


class AgentVersionPage(PageOf):
    """A page of versions of an agent."""

    versions: list[AgentVersionRecord]


class PromptBlockVersionPage(PageOf):
    """A page of versions of a prompt block."""

    versions: list[PromptBlockVersionRecord]


class Diff(Answer):
    """A field in which two versions differ; null where it is not set."""

    field: str
    previous_value: Any
    current_value: Any


class Comparison(Answer):
    """The fields in which two versions differ."""

    diffs: list[Diff]


class AgentComparison(Comparison):
    """Two versions of an agent."""

    from_version: AgentVersionRecord
    to_version: AgentVersionRecord


class PromptBlockComparison(Comparison):
    """Two versions of a prompt block."""

    from_version: PromptBlockVersionRecord
    to_version: PromptBlockVersionRecord


class Success(Answer):
    """It is done."""

    success: bool
    message: str


class Activated(Success):
    """A version is published."""

    active_version_id: str
    warnings: list[NoticeAnswer] = []


class FavoriteAnswer(Answer):
    """Whether an agent is a favorite of the caller's, and of how many people."""

    favorited: bool
    favorite_count: Annotated[int, Field(ge=0)]


class ChangeRequestAnswer(Answer):
    """A change that is proposed to a repository."""

    url: str
    ref: str
    id: str | None


class LabelAnswer(Answer):
    """A name for a version."""

    name: str
    version_id: str
    version_number: int
    kind: Literal["computed", "custom"]
    released: Annotated[
        bool,
        Field(description="Whether whoever may read what is published may read the version by this name."),
    ]
    updated_at: Time
    updated_by: str | None


class LabelList(Answer):
    """The labels of a resource."""

    labels: list[LabelAnswer]


class DependentsAnswer(Answer):
    """The agents that refer to a resource."""

    dependents: list[Named]
    hidden_count: int


class Export(Answer):
    """A configuration as a file."""

    file_name: str
    content: str
    config: JsonObject


class AgentExport(Export):
    """An agent's configuration as a file."""

    agent_id: str


class PromptBlockExport(Export):
    """A prompt block's configuration as a file."""

    block_id: str


class BlockShown(Answer):
    """What became of one block of a preview."""

    type: str
    shown: bool
    id: str = fields.UNCHANGED
    reason: str = fields.UNCHANGED


class PreviewAnswer(Answer):
    """Assembled instructions."""

    result: str
    blocks: list[BlockShown]
    warnings: Annotated[
        list[NoticeAnswer],
        Field(description="What the `requestContextSchema` of a block has against the context."),
    ] = []


class BlockUsed(Answer):
    """A prompt block that an agent's instructions refer to."""

    id: str
    version_id: str | None
    shown: bool
    reason: Annotated[str | None, Field(description="missing, unpublished, rules or blank")]


class Tokens(Answer):
    """The tokens of a run, sub-agents included."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class ToolCall(Answer):
    """What the model asked of a tool; a delegation to a sub-agent is one too."""

    tool_call_id: str
    tool_name: str
    args: JsonObject


class ToolResult(Answer):
    """What a tool gave."""

    tool_call_id: str
    tool_name: str
    result: Any


class RunStep(Answer):
    """One answer of the model."""

    text: str
    finish_reason: str
    tool_calls: list[ToolCall]
    tool_results: list[ToolResult]
    usage: Tokens


class Turn(Answer):
    """A message of the conversation, in the form that the next call takes."""

    role: Literal["user", "assistant", "system"]
    content: str


class RunAnswer(Answer):
    """What an agent answered, and how it came to it."""

    text: str
    finish_reason: str
    usage: Tokens
    steps: list[RunStep]
    tool_calls: list[ToolCall]
    tool_results: list[ToolResult]
    messages: list[Turn]
    run_id: str
    resolved_versions: Annotated[
        dict[str, str | None],
        Field(description="By agent that took part; null is the code's."),
    ]
    warnings: list[NoticeAnswer]


class ResolvedAgentAnswer(Answer):
    """An agent as applications use it."""

    id: str
    name: str
    description: str | None
    instructions: str = fields.UNCHANGED
    tools: dict[str, JsonObject]
    agents: dict[str, JsonObject]
    model: JsonObject | None
    provider: str | None
    model_id: str | None
    default_options: JsonObject
    source: Literal["code", "stored"]
    status: RecordStatus
    metadata: JsonObject
    resolved_version_id: str | None
    active_version_id: str | None
    selector: JsonObject
    fallback: NoticeAnswer | None
    warnings: list[NoticeAnswer]
    blocks: list[BlockUsed] = []


class AgentsById(RootModel[dict[str, ResolvedAgentAnswer]]):
    """Agents, by id."""


class ResourceReference(Answer):
    """A resource, named."""

    kind: Literal["agent", "promptBlock"]
    id: str


class Actor(Answer):
    """Who did it, and by which way; nobody is named where the application itself did."""

    id: str | None
    via: Literal["studio", "api", "python", "schedule", "command", "file"]
    key_prefix: str | None


class EventAnswer(Answer):
    """One change. What does not apply is null."""

    position: int
    id: Annotated[str, Field(json_schema_extra={"format": "uuid"})]
    type: str
    created_at: Time
    workspace_id: str | None
    resource: ResourceReference | None
    version_id: str | None
    version_number: int | None
    previous_version_id: str | None
    label: str | None
    actor: Actor
    detail: JsonObject


class EventPage(Answer):
    """Events, and where the next page begins."""

    events: list[EventAnswer]
    next: int
    has_more: bool
