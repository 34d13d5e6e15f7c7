"""Versions and labels of a resource; each kind adds its snapshot fields to those of a version."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time
from versioning.api.schemas.common import ChangeMessage, NotEmpty, NoticeAnswer, Success
from versioning.api.schemas.records import PublishOptions
from versioning.domain.config import UNCHANGED
from versioning.domain.snapshots import title_of
from versioning.editor.labelling import Label
from versioning.serving.resolution import Resolved

VersionState = TypeAliasType("VersionState", Literal["published", "draft", "historical"])
VersionSource = TypeAliasType("VersionSource", Literal["database", "git", "file"])


class VersionCreate(RequestSchema):
    """The body of a request that creates a version."""

    change_message: ChangeMessage | None = None


class Activate(PublishOptions):
    """The body of publishing a version."""


class SetLabel(PublishOptions):
    """The body of setting a label."""

    version_id: NotEmpty
    released: Annotated[
        bool,
        Field(
            description="Whether the version is served under this name to all who may read what is "
            "published. As it is when absent; false for a new label."
        ),
    ] = UNCHANGED


class VersionRecord(ResponseSchema):
    """A version, with its configuration at top level."""

    snapshot_source: ClassVar[str | None] = "version.config"

    id: Annotated[str, Source("version.version_id")]
    version_number: Annotated[
        int,
        Source("version.number"),
        Field(ge=0, description="0 for an override file that is not committed."),
    ]
    changed_fields: Annotated[list[str], Source("version.changed_fields")]
    change_message: Annotated[str, Source("version.change_message")]
    author_id: str | None
    created_at: Annotated[Time, Source("version.created_at")]
    source: Annotated[VersionSource, Source("version.source")]
    author_name: Annotated[str, Field(description="Of versions that Git holds.")] = ""
    commit: Annotated[str, Source("version.commit"), Field(description="Of versions that Git holds.")] = ""
    read_only: Annotated[bool, Source("version.read_only")]
    bypassed_by: Annotated[
        str | None,
        Source(lambda shown: shown.version.bypassed_by or None),
        Field(description="The admin who let it go live without the approvals that it needed."),
    ]
    state: VersionState
    labels: list[str]


class Diff(ResponseSchema):
    """A field in which two versions differ; null if it is not set."""

    field: str
    previous_value: Annotated[Any, Source("previous")]
    current_value: Annotated[Any, Source("current")]


class Comparison(ResponseSchema):
    """The fields in which two versions differ."""

    diffs: list[Diff]


def _is_published(published: Resolved[Any]) -> str:
    return f"{title_of(published.version)} is published."


class Activated(Success):
    """A version is published."""

    message: Annotated[str, Source(_is_published)]
    active_version_id: Annotated[str, Source("version.version_id")]
    warnings: list[NoticeAnswer]


def _label_kind(label: Label) -> str:
    return "computed" if label.computed else "custom"


class LabelAnswer(ResponseSchema):
    """A name for a version."""

    name: str
    version_id: str
    version_number: int
    kind: Annotated[Literal["computed", "custom"], Source(_label_kind)]
    released: Annotated[
        bool,
        Field(description="Whether all who may read what is published may read the version by this name."),
    ]
    updated_at: Time
    updated_by: str | None


class LabelList(ResponseSchema):
    """The labels of a resource."""

    labels: Annotated[list[LabelAnswer], Source(list)]
