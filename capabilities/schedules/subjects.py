"""The subject of a schedule, as stored now: a resource or a release, and its live versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from capabilities.releases.editing import refuse_published
from capabilities.releases.items import locked as items_locked
from capabilities.releases.models import Release
from capabilities.schedules.models import Action
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.kinds import kind_named
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.locking import Change, changing
from versioning.models import events
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of a schedule, locked for this transaction."""

    columns: Mapping[str, Any]
    """The columns of the schedule about it."""
    live: Mapping[str, str | None]
    """The live versions, or those to expect when the schedule runs, in the form of `Schedule.expects`."""

    def expecting(self, version_id: str | None) -> Self:
        """Return it with another expected version; None for none."""
        return replace(self, live=dict.fromkeys(self.live, version_id))


@dataclass(frozen=True, kw_only=True)
class ResourceSubject(Subject):
    """A resource."""

    change: Change[Any]

    def pinned(self, version_id: str | None, action: str, *, field: str = "versionId") -> dict[str, Any]:
        """Return the columns for the version of an action; raises `Invalid`."""
        if action == Action.UNPUBLISH:
            if version_id is not None:
                raise Invalid.field(field, "must not be given: nothing is live after unpublishing")
            return {}
        if version_id is None:
            raise Invalid.field(field, "is required")
        try:
            version = find_version(self.change.resource, version_id)
        except NotFound:
            raise Invalid.field(field, "is not a version of this resource") from None
        return {"version_id": version.version_id, "version_number": version.number}


@contextmanager
def locked_resource(editor: Editor, kind: str, resource_id: str, by: Caller) -> Iterator[ResourceSubject]:
    """Lock a resource for this transaction.

    Raises `NotFound` if the caller may not read it, and `Forbidden` without the right to publish it.
    """
    collection = editor.collection(kind_named(kind))
    with changing(collection, resource_id, Right.PUBLISH, by, include_deleted=True) as change:
        resource = change.resource
        target = target_of(resource, editor.code)
        columns = {
            "kind": target.kind,
            "resource_id": target.id,
            "identity": target.identity,
            "workspace_id": target.workspace_id,
        }
        live = {_reference(target.kind, target.id): resource.active_id}
        yield ResourceSubject(columns=columns, live=live, change=change)


@contextmanager
def locked_release(editor: Editor, release_id: str, by: Caller) -> Iterator[Subject]:
    """Lock a release and its resources for this transaction.

    Raises `NotFound` if the caller may not read it, `Forbidden` without the right to publish it, and
    `Conflict` if it is already published.
    """
    with events.transaction():
        events.acts(by)
        release = Release.objects.covered_by(by).locked().filter(pk=parse_uuid(release_id)).first()
        if release is None or not by.may(Right.READ, release.workspace_id):
            raise NotFound
        by.require(Right.PUBLISH, release.workspace_id)
        refuse_published(release)
        items = items_locked(editor, release.items.select_related("release"))
        live = {
            _reference(item.kind, item.resource_id): None
            if item.resource is None
            else item.resource.active_id
            for item in items
        }
        columns = {"release_id": release.pk, "workspace_id": release.workspace_id}
        yield Subject(columns=columns, live=live)


def _reference(kind: str, resource_id: str) -> str:
    """Return a resource's reference for `Schedule.expects`."""
    return f"{kind}/{resource_id}"
