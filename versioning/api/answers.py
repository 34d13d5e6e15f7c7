"""The shapes of the answers, for the OpenAPI document; `versioning.api.wire` makes the answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from versioning import fields
from versioning.fields import JsonObject, Shape

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class IssueAnswer(Shape):
    """One fault of one field."""

    field: str
    message: str


class Named(Shape):
    """An agent by id and name."""

    id: str
    name: str


class CurrentState(Shape):
    """What a resource looks like now, in the answer to a save from a stale base."""

    latest_version_id: str
    active_version_id: str | None
    saved_by: str | None
    saved_at: Time
    changed_fields: list[str]


class ErrorAnswer(Shape):
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


class Record(Shape):
    """A resource: its record, flat, with the fields of the resolved version."""

    id: str
    workspace_id: str
    status: Literal["published", "draft"]
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

    visibility: Literal["private", "public"]
    is_favorited: Annotated[bool, Field(description="Whether it is a favorite of the caller's.")]
    favorite_count: Annotated[int, Field(ge=0, description="How many people have marked it.")]


class PromptBlockRecord(Record, fields.PromptBlockFields):
    """A prompt block."""


class VersionRecord(Shape):
    """A version, with its configuration at top level."""

    id: str
    version_number: Annotated[int, Field(ge=0, description="0 for an override file that is not committed.")]
    changed_fields: list[str]
    change_message: str
    author_id: str | None
    created_at: Time
    source: Literal["database", "git", "file"]
    author_name: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    commit: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    read_only: bool
    state: Literal["published", "draft", "historical"]
    labels: list[str]


class AgentVersionRecord(VersionRecord, fields.AgentFields):
    """A version of an agent."""

    agent_id: str


class PromptBlockVersionRecord(VersionRecord, fields.PromptBlockFields):
    """A version of a prompt block."""

    block_id: str


class PageOf(Shape):
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


class Diff(Shape):
    """A field in which two versions differ; null where it is not set."""

    field: str
    previous_value: Any
    current_value: Any


class Comparison(Shape):
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


class Success(Shape):
    """It is done."""

    success: bool
    message: str


class Activated(Success):
    """A version is published."""

    active_version_id: str
    warnings: list[NoticeAnswer] = []


class FavoriteAnswer(Shape):
    """Whether an agent is a favorite of the caller's, and of how many people."""

    favorited: bool
    favorite_count: Annotated[int, Field(ge=0)]


class ChangeRequestAnswer(Shape):
    """A change that is proposed to a repository."""

    url: str
    ref: str
    id: str | None


class LabelAnswer(Shape):
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


class LabelList(Shape):
    """The labels of a resource."""

    labels: list[LabelAnswer]


class DependentsAnswer(Shape):
    """The agents that refer to a resource."""

    dependents: list[Named]
    hidden_count: int


class Export(Shape):
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


class BlockShown(Shape):
    """What became of one block of a preview."""

    type: str
    shown: bool
    id: str = fields.UNCHANGED
    reason: str = fields.UNCHANGED


class PreviewAnswer(Shape):
    """Assembled instructions."""

    result: str
    blocks: list[BlockShown]


class BlockUsed(Shape):
    """A prompt block that an agent's instructions refer to."""

    id: str
    version_id: str | None
    shown: bool
    reason: Annotated[str | None, Field(description="missing, unpublished, rules or blank")]


class Tokens(Shape):
    """The tokens of a run, sub-agents included."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class RunAnswer(Shape):
    """What an agent answered, and how it came to it."""

    text: str
    finish_reason: str
    usage: Tokens
    steps: list[JsonObject]
    tool_calls: list[JsonObject]
    tool_results: list[JsonObject]
    messages: list[JsonObject]
    run_id: str
    resolved_versions: Annotated[
        dict[str, str | None],
        Field(description="By agent that took part; null is the code's."),
    ]
    warnings: list[NoticeAnswer]


class ResolvedAgentAnswer(Shape):
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
    status: Literal["published", "draft"]
    metadata: JsonObject
    resolved_version_id: str | None
    active_version_id: str | None
    selector: JsonObject
    fallback: NoticeAnswer | None
    warnings: list[NoticeAnswer]
    blocks: list[BlockUsed] = []


class AgentsById(RootModel[dict[str, ResolvedAgentAnswer]]):
    """Agents, by id."""
