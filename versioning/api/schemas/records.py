"""Stored agents and prompt blocks: what creates, edits and exports one, and its record."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from versioning.api.schemas.base import Json, RequestSchema, ResponseSchema, Source, Time
from versioning.api.schemas.common import ChangeMessage, Named, NoticeAnswer, PageOf, RecordStatus
from versioning.domain import fields
from versioning.domain.fields import UNCHANGED, JsonObject, NotBlank, ResourceId
from versioning.editor.inputs import MAX_MESSAGE

_VERB_ARGUMENTS = {
    "id": "id",
    "workspaceId": "workspace",
    "visibility": "visibility",
    "metadata": "metadata",
    "autoPublish": "publish",
    "changeMessage": "message",
}
"""The members of a body that are no snapshot fields, as the editor's verbs call them."""


def split(body: Json) -> tuple[Json, Json]:
    """Return the snapshot fields of a save, and the rest as arguments of the editor's verbs."""
    arguments = {_VERB_ARGUMENTS[name]: value for name, value in body.items() if name in _VERB_ARGUMENTS}
    return {name: value for name, value in body.items() if name not in _VERB_ARGUMENTS}, arguments


class Saved(RequestSchema):
    """What every save may say beside the snapshot fields."""

    change_message: Annotated[
        ChangeMessage | None, Field(description=f"Why; trimmed, up to {MAX_MESSAGE} characters.")
    ] = None
    auto_publish: bool = UNCHANGED
    metadata: Annotated[
        JsonObject | None, Field(description="Merged member by member; null removes one.")
    ] = None


class Created(Saved):
    """What creating may say beside the snapshot fields."""

    id: ResourceId = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class HasVisibility(RequestSchema):
    """Agents can be public."""

    visibility: fields.Visibility = UNCHANGED


class AgentCreate(fields.AgentConfig, Created, HasVisibility):
    """A new agent."""


class OverrideFields(fields.AgentFields):
    """An override requires nothing, so that everything in it can be cleared."""

    name: NotBlank | None = None  # type: ignore[assignment]
    instructions: fields.Instructions | None = None  # type: ignore[assignment]


class OverrideCreate(OverrideFields, Created, HasVisibility):
    """A new override of an agent that code defines."""


class OverrideUpdate(OverrideFields, Saved, HasVisibility):
    """An edit of an override."""


class AgentToExport(OverrideFields, RequestSchema):
    """The fields of an agent to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")


class PromptBlockToExport(fields.PromptBlockFields, RequestSchema):
    """The fields of a prompt block to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")

    name: NotBlank | None = None  # type: ignore[assignment]
    content: str | None = None  # type: ignore[assignment]


class AgentUpdate(fields.AgentFields, Saved, HasVisibility):
    """An edit of an agent."""


class PromptBlockCreate(fields.PromptBlockConfig, Created):
    """A new prompt block."""


class PromptBlockUpdate(fields.PromptBlockFields, Saved):
    """An edit of a prompt block."""


class Clone(RequestSchema):
    """The body of clone."""

    new_id: ResourceId
    new_name: NotBlank = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class ChangeRequest(fields.AgentFields, RequestSchema):
    """The body of a change request: the fields to propose, and why."""

    change_message: str | None = None
    inspect_only: bool = UNCHANGED


class ChangeRequestAnswer(ResponseSchema):
    """A change that is proposed to a repository."""

    url: str
    ref: str
    id: str | None


class Record(ResponseSchema):
    """A resource: its record, flat, with the fields of the resolved version."""

    snapshot_source: ClassVar[str | None] = "version.config"

    id: Annotated[str, Source("resource.pk")]
    workspace_id: Annotated[str, Source("resource.workspace_id")]
    status: RecordStatus
    active_version_id: Annotated[str | None, Source("resource.active_id")]
    latest_version_id: Annotated[str | None, Field(description="Null for who may not read drafts.")]
    resolved_version_id: Annotated[str | None, Source("version.version_id")]
    has_draft: Annotated[bool | None, Field(description="Null for who may not read drafts.")]
    author_id: str | None
    metadata: Annotated[JsonObject, Source("resource.metadata")]
    created_at: Annotated[Time, Source("resource.created_at")]
    updated_at: Annotated[Time, Source("resource.updated_at")]
    warnings: Annotated[list[NoticeAnswer], Field(description="In the answer to a save only.")] = []


class AgentRecord(Record, fields.AgentFields):
    """A stored agent."""

    visibility: fields.Visibility
    is_favorited: Annotated[
        bool, Source("favorited.by_caller"), Field(description="Whether it is a favorite of the caller's.")
    ]
    favorite_count: Annotated[
        int, Source("favorited.count"), Field(ge=0, description="How many people have marked it.")
    ]


class PromptBlockRecord(Record, fields.PromptBlockConfig):
    """A prompt block."""


class AgentPage(PageOf):
    """A page of stored agents."""

    agents: Annotated[list[AgentRecord], Source("items")]


class PromptBlockPage(PageOf):
    """A page of prompt blocks."""

    prompt_blocks: Annotated[list[PromptBlockRecord], Source("items")]


class FavoriteAnswer(ResponseSchema):
    """Whether an agent is a favorite of the caller's, and of how many people."""

    favorited: Annotated[bool, Source("by_caller")]
    favorite_count: Annotated[int, Source("count"), Field(ge=0)]


class DependentsAnswer(ResponseSchema):
    """The agents that refer to a resource."""

    dependents: Annotated[list[Named], Source("readable")]
    hidden_count: int


class Export(ResponseSchema):
    """A configuration as a file."""

    file_name: str
    content: str
    config: JsonObject


class AgentExport(Export):
    """An agent's configuration as a file."""

    agent_id: Annotated[str, Source("resource_id")]


class PromptBlockExport(Export):
    """A prompt block's configuration as a file."""

    block_id: Annotated[str, Source("resource_id")]
