"""Publish a release: all of it in one transaction, or nothing."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import Any, Final

from django.db.models import F
from django.utils import timezone

from capabilities.releases.automatic import was_published
from capabilities.releases.checking import problems_of
from capabilities.releases.editing import changing, find
from capabilities.releases.items import ItemNow, Versions, collection_of, locked, moves_of, read_ahead
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import Action, State
from capabilities.releases.rules import ReleaseBlocked
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.editor import Editor, gate
from versioning.editor.gate import Options
from versioning.editor.locking import Change, retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.models.statements import update
from versioning.serving.overlays import OverlaidVersion
from versioning.verbs import Verbs

_FIXED: Final = frozenset(field.name for field in ReleaseItem._meta.fields if field.name != "active_before")
"""The columns of an item that publishing does not change."""


@retry_on_conflict
def publish(
    releases: Verbs,
    release_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    versions: Versions | None = None,
    at: datetime.datetime | None = None,
    **options: Any,
) -> Release:
    """Publish or unpublish every item; readers see either all changes or none.

    Locks the release, then its resources, blocks first and each kind by id, then moves them in that order.
    Everything is recorded at one position of the log, with the end of its schedules. The configurations,
    which take longest, are read before anything is locked, because a transaction on SQLite blocks other
    saves: `versions` are those that
    `read_ahead` returned to a caller who already began a transaction. The gate is asked about the time `at`,
    by default now. Raises `ReleaseBlocked` if the gate refuses any item, `Conflict` if the release is already
    published, and `ReleaseChanged` as `editing.change` does.
    """
    caller, editor, given = caller_of(by), releases.editor, gate.only_options(options)
    if versions is None:
        versions = read_ahead(editor, find(release_id, by=caller, right=Right.PUBLISH).items.all())
    with changing(release_id, Right.PUBLISH, caller, expect) as release, events.together():
        items = locked(editor, release.items.all(), versions)
        problems = problems_of(editor, release, items, caller, options=given, at=at)
        if problems:
            raise ReleaseBlocked(problems)
        release.record("published", caller)
        _publish_items(editor, release, items, caller, options=given, at=at)
        release.state, release.published_at = State.PUBLISHED, timezone.now()
        release.published_by_id, release.revision = caller.user_id, release.revision + 1
        if release.reverts is not None:
            _note_reverted(release.reverts, release, caller)
        was_published(release, caller)
    return find(release_id, by=caller)


def _publish_items(
    editor: Editor,
    release: Release,
    items: list[ItemNow],
    by: Caller,
    *,
    options: Options,
    at: datetime.datetime | None,
) -> None:
    together, before = moves_of(item.item for item in items), _live_now(items)
    about = {"releaseId": str(release.pk)}
    for item in items:
        collection = collection_of(editor, item.kind)
        change = Change(collection, item.resource, by, options)  # the release has locked it
        change.require(Right.PUBLISH, None)
        item.item.active_before = item.resource.active_version_id
        if item.item.action == Action.PUBLISH:
            change.activate(item.version, together=together, before=before, at=at, **about)
        else:
            change.deactivate(together=together, before=before, at=at, **about)
        change.store()
    for item in items:
        update(item.item, _FIXED)


def _live_now(items: list[ItemNow]) -> Mapping[tuple[str, str], OverlaidVersion]:
    """Return what is live of the items before they move."""
    return {
        (item.kind, item.resource_id): OverlaidVersion(
            identity=item.resource.uuid,
            version_id=None if item.active_version_id is None else str(item.active_version_id),
        )
        for item in items
    }


def _note_reverted(reverted: Release, by_release: Release, by: Caller) -> None:
    """Mark a release as reverted, unless another one already has."""
    still = Release.objects.filter(pk=reverted.pk, state=State.PUBLISHED)
    if still.update(state=State.REVERTED, revision=F("revision") + 1):
        reverted.record("reverted", by, revertedBy=str(by_release.pk))
