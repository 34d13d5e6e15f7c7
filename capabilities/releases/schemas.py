"""The JSON objects of releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from capabilities.releases.items import ItemNow
from capabilities.releases.models import Release
from capabilities.releases.models.releases import MAX_DESCRIPTION, MAX_ITEMS, MAX_TITLE
from capabilities.releases.rules import Problem
from versioning.api.resources import PublishOptions
from versioning.api.schemas import (
    PageOf,
    ProblemAnswer,
    RequestSchema,
    ResourceKind,
    ResponseSchema,
    SerializedBy,
    Source,
    Time,
    TimeOrNull,
    Uuid,
)
from versioning.domain.config import UNCHANGED, NotBlank

ReleaseAction = TypeAliasType("ReleaseAction", Literal["publish", "unpublish"])
ReleaseState = TypeAliasType("ReleaseState", Literal["draft", "published", "reverted"])

_TITLE = Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_TITLE})]
_DESCRIPTION = Annotated[str, Field(json_schema_extra={"maxLength": MAX_DESCRIPTION})]


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release with the current state of its items."""

    release: Release
    items: Sequence[ItemNow]
    conflicts: Sequence[ItemNow] = ()
    """The items that the reverted release no longer has live."""


class Reference(RequestSchema):
    """A resource."""

    kind: ResourceKind
    id: NotBlank


class NewReleaseItem(RequestSchema):
    """A resource to publish in this version, by default the latest one, or to unpublish."""

    resource: Reference
    action: ReleaseAction = "publish"
    version_id: Uuid | None = None


_ITEMS = Annotated[list[NewReleaseItem], Field(json_schema_extra={"maxItems": MAX_ITEMS})]


class ReleaseCreate(RequestSchema):
    """A new draft release."""

    workspace_id: NotBlank
    title: _TITLE
    description: _DESCRIPTION | None = None
    items: _ITEMS = Field(default=[])


class ReleaseUpdate(RequestSchema):
    """A change of a draft release; an absent member is unchanged, and `items` replaces all of them."""

    title: _TITLE = UNCHANGED
    description: _DESCRIPTION | None = None
    items: _ITEMS = Field(default=[])


class ReleasePublish(PublishOptions):
    """The body of publishing a release."""


class ReleasedResource(ResponseSchema):
    """A reference to a resource."""

    kind: ResourceKind
    id: Annotated[str, Source("resource_id")]


def _name(who: Any) -> str | None:
    return None if who is None else who.get_username()


def _id(value: Any) -> str | None:
    return None if value is None else str(value)


class ReleaseItemAnswer(ResponseSchema):
    """A resource and its action. `newer` means that a version was saved after the one to publish."""

    resource: Annotated[ReleasedResource, Source(lambda item: item)]
    action: Annotated[ReleaseAction, Source("item.action")]
    version_id: Annotated[Uuid | None, Source(lambda one: _id(one.item.version_id))]
    version_number: Annotated[int | None, Source("item.version_number")]
    active_before: Annotated[
        Uuid | None,
        Field(description="What was live before the release; while it is a draft, what is live now."),
    ]
    newer: bool


class ReleaseAnswer(ResponseSchema):
    """Resources that are published together."""

    id: Annotated[Uuid, Source(lambda view: str(view.release.pk))]
    workspace_id: Annotated[str, Source("release.workspace_id")]
    title: Annotated[str, Source("release.title")]
    description: Annotated[str, Source("release.description")]
    state: Annotated[ReleaseState, Source("release.state")]
    items: list[ReleaseItemAnswer]
    created_by: Annotated[str | None, Source(lambda view: _name(view.release.created_by))]
    created_at: Annotated[Time, Source("release.created_at")]
    published_by: Annotated[str | None, Source(lambda view: _name(view.release.published_by))]
    published_at: Annotated[TimeOrNull, Source("release.published_at")]
    reverts: Annotated[Uuid | None, Source(lambda view: _id(view.release.reverts_id))]


class ReleasePage(PageOf):
    """Releases, newest first."""

    releases: Annotated[list[ReleaseAnswer], Source("items")]


class ReleaseConflict(ResponseSchema):
    """A resource that cannot be reverted, because another version is now live."""

    resource: Annotated[ReleasedResource, Source(lambda item: item)]
    version_id: Annotated[Uuid | None, Source(lambda one: _id(one.item.version_id))]
    active_version_id: Annotated[Uuid | None, Source(lambda one: _id(one.active_version_id))]


class RevertAnswer(ReleaseAnswer):
    """A draft that reverts a release, and the items that it leaves out."""

    conflicts: list[ReleaseConflict]


def _problems(found: Sequence[Problem]) -> list[dict[str, Any]]:
    return [problem.as_json for problem in found]


class CheckAnswer(ResponseSchema):
    """Whether a release could be published now."""

    ok: bool
    problems: Annotated[list[ProblemAnswer], SerializedBy(_problems)]
    warnings: Annotated[list[ProblemAnswer], SerializedBy(_problems)]
