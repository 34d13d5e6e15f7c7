"""Resources and versions for one caller: the content of the API's records."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from editor_client.shared import canonical, ids

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Notice, Registry
from versioning.domain.config import Config
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.editor.collection import Collection
from versioning.models import Favorited, VersionedResource
from versioning.serving.resolution import Resolved

_WITHOUT_DRAFTS = "-published"
SHOWN_TEXT: Final = Coalesce("active_version__config_json", "latest_version__config_json")
"""The configuration that the record of a row shows in a list."""
_TEXTS: Final = ("config_json", "search_text", "excerpt")


@dataclass(kw_only=True, slots=True)
class RecordView:
    """A resource with one of its versions, as one caller sees it."""

    resource: VersionedResource
    version: Snapshot
    caller: Caller
    code: Registry
    """The code-defined agents, which decide who can read their overrides."""
    favorited: Favorited
    warnings: Sequence[Notice] | None = None
    """Notices about a save; None if the record is only read."""
    reads_drafts: bool = field(init=False)

    def __post_init__(self) -> None:
        self.reads_drafts = self.caller.may(Right.READ_DRAFTS, self.resource.workspace_id)

    @property
    def status(self) -> str:
        """Whether a version is published."""
        return (Status.PUBLISHED if self.resource.active_id else Status.DRAFT).value

    @property
    def latest_version_id(self) -> str | None:
        """The version saved last; None if the caller may not read drafts."""
        return self.resource.latest_id if self.reads_drafts else None

    @property
    def has_draft(self) -> bool | None:
        """Whether there is a newer version than the published one; None if the caller may not read drafts."""
        return self.resource.has_draft if self.reads_drafts else None

    @property
    def author_id(self) -> str | None:
        """The name of the user who created the resource; None for the application."""
        if self.resource.author_id is not None and self.resource.author_id == self.caller.user_id:
            return self.caller.username
        return self.resource.author.get_username() if self.resource.author else None

    @property
    def visibility(self) -> str | None:
        """Who may read it beyond the workspace; None for a kind that cannot be public."""
        return self.resource.visibility_by(self.code)

    @property
    def updated_at(self) -> datetime.datetime:
        """When the resource was last changed, as far as the caller may see."""
        return self.resource.changed_at(drafts=self.reads_drafts)

    @property
    def etag(self) -> str:
        """The entity tag of the record, the same for all selectors.

        A caller without access to drafts gets another tag, which no draft changes. It never equals an
        editor's tag, because a reader who becomes an editor must not get "not modified". The visibility of an
        override comes from the code and can change with its next release, and marking a favorite changes the
        record too. All this follows the first `-` of the tag and is ignored in `If-Match`, because it is not
        a change of the resource.
        """
        etag = self.resource.etag if self.reads_drafts else self.resource.published_etag
        row = self.resource
        agent = self.code.overridden_by(row.pk, row.workspace_id) if row.kind.in_code else None
        if agent is not None:
            etag += f"-{agent.visibility}"
        if not self.reads_drafts:
            etag += _WITHOUT_DRAFTS
        if self.favorited.count:
            etag += f"-{'own' if self.favorited.by_caller else 'others'}-{self.favorited.count}"
        return etag


@dataclass(kw_only=True, slots=True)
class VersionView:
    """A version of a resource, with its labels."""

    resource: VersionedResource
    version: Snapshot
    labels: Sequence[str]

    @property
    def author_id(self) -> str | None:
        """The name of the user who saved it; None for the application and for a commit."""
        return self.version.author_name if self.version.commit is None else None

    @property
    def author_name(self) -> str | None:
        """The author of a commit; None for a version that was saved here."""
        return None if self.version.commit is None else self.version.author_name

    @property
    def state(self) -> str:
        """The current state: published, draft or historical."""
        return self.resource.state_of(self.version).value


@dataclass(kw_only=True, frozen=True)
class ConfigFile:
    """A configuration as the content of its file."""

    resource_id: str
    folder: str
    config: Config

    @property
    def file_name(self) -> str:
        """The path of the file, below the folder of the override files."""
        return f"{self.folder}/{ids.encode(self.resource_id)}.json"

    @property
    def content(self) -> str:
        """The text of the file; equal configurations give equal texts."""
        return canonical.file_text(self.config)


def make_record(
    collection: Collection[Any], resolved: Resolved[Any], by: Caller, *, is_new: bool = False
) -> RecordView:
    """Return the record of a resource with the selected version; one query for favorites.

    A new resource has no favorites, unless code has defined it before.
    """
    resource = resolved.resource
    if is_new and collection.ownership.defines(resource.pk) is None:
        favorited = Favorited(by_caller=False, count=0)
    else:
        favorited = collection.favorites_about([resource.pk], by=by)[resource.pk]
    return RecordView(
        resource=resource,
        version=resolved.version,
        caller=by,
        code=collection.code,
        favorited=favorited,
    )


def with_shown_text(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Select only the text that `records_of` shows from the versions of rows: each may be a megabyte long."""
    texts = [f"{pointer}_version__{text}" for pointer in ("active", "latest") for text in _TEXTS]
    annotated: QuerySet[Any] = rows.defer(*texts).annotate(shown_text=SHOWN_TEXT)
    return annotated


def make_records(
    collection: Collection[Any], resources: Sequence[VersionedResource], by: Caller
) -> list[RecordView]:
    """Return the records of resources, each with its published version or else the latest, in one query."""
    favorites = collection.favorites_about([resource.pk for resource in resources], by=by)
    for resource in resources:
        if hasattr(resource, "shown_text"):
            version = resource.active_version or resource.latest_version
            version.config_json = resource.shown_text
    return [
        RecordView(
            resource=resource,
            version=resource.active or resource.latest,
            caller=by,
            code=collection.code,
            favorited=favorites[resource.pk],
        )
        for resource in resources
    ]


def make_version_views(resource: VersionedResource | None, versions: Iterable[Snapshot]) -> list[VersionView]:
    """Return versions of a resource with their labels; one query for any number of them."""
    snapshots = list(versions)
    if resource is None or not snapshots:
        return []
    labels: dict[str, list[str]] = {version.version_id: [] for version in snapshots}
    in_rows = [version.version_id for version in snapshots if not version.read_only]
    for label in resource.labels.filter(version_id__in=in_rows):
        labels[str(label.version_id)].append(label.name)
    return [
        VersionView(resource=resource, version=version, labels=labels[version.version_id])
        for version in snapshots
    ]
