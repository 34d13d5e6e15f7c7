"""The requests that save a resource, and its record: the parts that all kinds share.

What can make a version live has members for the options of the gate's checks, each declared by its check.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field, create_model
from pydantic.alias_generators import to_snake

from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time
from versioning.api.schemas.common import (
    ChangeMessage,
    Named,
    NoticeAnswer,
    RecordStatus,
)
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank, ResourceId, Visibility
from versioning.editor import gate

if TYPE_CHECKING:

    class PublishOptions(RequestSchema):
        """The body of a request that can make a version live."""

    class TakeDownOptions(RequestSchema):
        """The body of a request that can leave a resource without a live version."""

else:
    if not apps.ready:
        raise ImproperlyConfigured("The bodies of requests are known when every application is ready.")

    def _body(name: str, doc: str, options: Iterable[gate.Option]) -> type[RequestSchema]:
        members: dict[str, Any] = {to_snake(option.member): (option.schema, UNCHANGED) for option in options}
        return create_model(name, __base__=RequestSchema, __doc__=doc, **members)

    PublishOptions = _body(
        "PublishOptions", "The body of what can make a version live.", gate.options().values()
    )
    TakeDownOptions = _body(
        "TakeDownOptions",
        "The body of what can make nothing live any more.",
        gate.options(for_take_down=True).values(),
    )


class Saved(PublishOptions):
    """What every save can contain in addition to the snapshot fields."""

    change_message: Annotated[
        ChangeMessage | None, Field(description=f"Why; trimmed, up to {MAX_MESSAGE} characters.")
    ] = None
    auto_publish: bool = UNCHANGED
    metadata: Annotated[
        JsonObject | None, Field(description="Merged member by member; null removes one.")
    ] = None


class Created(Saved):
    """What creating can contain in addition to the snapshot fields."""

    id: ResourceId = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class HasVisibility(RequestSchema):
    """Agents can be public."""

    visibility: Visibility = UNCHANGED


class Clone(RequestSchema):
    """The body of clone."""

    new_id: ResourceId
    new_name: NotBlank = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class NotCreated(ResponseSchema):
    """With `dryRun`: the id and the workspace that the resource would have."""

    id: str
    workspace_id: str


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
    is_favorited: Annotated[
        bool, Source("favorited.by_caller"), Field(description="Whether it is a favorite of the caller's.")
    ]
    favorite_count: Annotated[
        int, Source("favorited.count"), Field(ge=0, description="How many people have marked it.")
    ]
    created_at: Annotated[Time, Source("resource.created_at")]
    updated_at: Annotated[
        Time, Field(description="For who may not read drafts, when something last changed that they may see.")
    ]
    warnings: Annotated[list[NoticeAnswer], Field(description="In the answer to a save only.")] = []


class FavoriteAnswer(ResponseSchema):
    """Whether a resource is a favorite of the caller, and how many people have marked it."""

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
