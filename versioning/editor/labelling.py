"""Labels: names for versions. A released label serves its version like a published one."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from django.utils import timezone
from editor_client.shared import ids

from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid, Message, NotFound
from versioning.domain.events import Audience
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.editor.locking import Change, changing, retry_on_conflict
from versioning.editor.reading import find
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Version, VersionedResource
from versioning.models.guarded import delete_row, save_row
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name for a version: `latest` and `production` are computed, people set the others."""

    name: str
    version_id: str
    version_number: int
    computed: bool
    released: bool
    """Whether everyone who can read published versions may read and run the version by this name."""
    updated_at: datetime.datetime
    updated_by: str | None


def labels(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> list[Label]:
    """Return the labels of the versions that the caller may read, computed ones first."""
    by = caller_of(by)
    resource = find(resources, resource_id, by=by)
    drafts = by.may(Right.READ_DRAFTS, resource.workspace_id)
    pointers = {"latest": resource.latest if drafts else None, "production": resource.active}
    rows: Any = resource.labels.select_related("version", "updated_by")
    return [
        _computed_label(name, version, resource) for name, version in pointers.items() if version is not None
    ] + [
        _custom(row, row.version)
        for row in rows
        if drafts or row.released or str(row.version_id) == resource.active_id
    ]


@retry_on_conflict
def label(
    resources: Resources[R],
    resource_id: str,
    name: str,
    version_id: str,
    *,
    released: bool | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    **options: Any,
) -> tuple[R, Label]:
    """Set a label on a version, or move it there.

    A released label serves its version to everyone who can read published versions. With `released=None` its
    release does not change. Setting a released label raises the errors of the gate; `options` are the options
    of its checks (`gate.options`).
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    problem = ids.label_problem(name)
    with changing(resources, resource_id, Right.PUBLISH, by, expect) as change:
        resource = change.resource
        if problem is not None:
            raise Invalid.field("name", problem)
        version = version_of_row(resource, version_id)
        row = resource.labels.select_related("updated_by", "version").filter(name=name).first()
        before, was_released = (row.version, row.released) if row else (None, False)
        row = row or resources.model.label_model(resource_id=resource.pk, name=name)
        released = row.released if released is None else released
        if before is None or before.pk != version.pk or row.released != released:
            if released:
                request = PublishRequest(
                    resource=resource, version=version, caller=by, label=name, options=gate_options
                )
                gate.check(request, resources.code)
            shows = was_released or released or _is_live(resource, before, version)
            row.released = released
            row.version_id = version.pk
            row.updated_by_id, row.updated_at = by.user_id, timezone.now()
            save_row(row)
            resource.touch(published=shows)
            for step in _steps(before, version, was_released=was_released, released=released):
                _record(change, "labelMoved", name, **step)
        return resource, _custom(row, version)


@retry_on_conflict
def unlabel(
    resources: Resources[R],
    resource_id: str,
    name: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> R:
    """Remove a label; raises `NotFound` if there is none with this name."""
    by = caller_of(by)
    with changing(resources, resource_id, Right.PUBLISH, by, expect) as change:
        resource = change.resource
        if name in ids.RESERVED_LABELS:
            raise Invalid.field("name", Message("{name!r} is computed and cannot be removed", name=name))
        row = resource.labels.filter(name=name).first()
        if row is None:
            raise NotFound
        states = {"was_released": row.released, "released": row.released}
        _record(change, "labelRemoved", name, previous=row.version_id, **states)
        delete_row(row)
        resource.touch(published=row.released or _is_live(resource, row.version))
        return resource


def version_of_row(resource: VersionedResource, version_id: str) -> Version:
    """Return a version stored in a row; raises `Invalid` for a version that cannot be changed here."""
    version = find_version(resource, version_id)
    if version.read_only:
        raise Invalid.field("versionId", "is stored outside the database", code="read_only")
    return cast("Version", version)


def _is_live(resource: VersionedResource, *versions: Version | None) -> bool:
    """Return whether one of the versions is published, so that everyone who can read it sees the labels."""
    return any(version is not None and version.version_id == resource.active_id for version in versions)


def _custom(row: Any, version: Snapshot) -> Label:
    """Return a label that people have set."""
    return Label(
        name=row.name,
        version_id=version.version_id,
        version_number=version.number,
        computed=False,
        released=row.released,
        updated_at=row.updated_at,
        updated_by=row.updated_by.get_username() if row.updated_by else None,
    )


def _computed_label(name: str, version: Snapshot, resource: VersionedResource) -> Label:
    moved_at, mover = version.created_at, version.author_name
    if name == "production" and resource.published_since is not None:
        moved_at = resource.published_since
        mover = resource.published_by.get_username() if resource.published_by else None
    return Label(
        name=name,
        version_id=version.version_id,
        version_number=version.number,
        computed=True,
        released=False,
        updated_at=moved_at,
        updated_by=mover,
    )


def _steps(
    before: Version | None, version: Version, *, was_released: bool, released: bool
) -> Iterator[dict[str, Any]]:
    """Yield the log entries of a move; each names only versions that its audience may read.

    A label that is released while it leaves a draft, or withdrawn while it moves to one, makes two.
    """
    if before is None or before.pk == version.pk or was_released == released:
        previous = before and before.pk
        yield {"version": version, "previous": previous, "was_released": was_released, "released": released}
        return
    if was_released:
        yield {"version": before, "previous": before.pk, "was_released": True, "released": False}
    yield {"version": version, "previous": before.pk, "was_released": False, "released": False}
    if released:
        yield {"version": version, "previous": version.pk, "was_released": False, "released": True}


def _record(
    change: Change[R], event: str, name: str, *, was_released: bool, released: bool, **versions: Any
) -> None:
    """Log a change of a label; a released label is also logged for its readers."""
    change.record(
        event,
        target=target_of(change.resource, change.resources.code, released=was_released),
        label=name,
        released=released,
        audience=Audience.READERS if was_released or released else None,
        **versions,
    )
