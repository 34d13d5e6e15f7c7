"""Publish a release: all of it in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import F
from django.utils import timezone

from releases.checking import problems_of
from releases.editing import changing, find, refuse_published
from releases.items import ItemNow, collection_of, locked, moves_of_blocks
from releases.models import Release, ReleaseItem
from releases.models.releases import Action, State
from releases.rules import ReleaseBlocked
from versioning.domain.access import Caller, Right
from versioning.editor import Editor, locking
from versioning.editor.locking import retried
from versioning.editor.publishing import activate, deactivate
from versioning.editor.resources import Who, caller_of
from versioning.models import events


@retried
def publish(
    editor: Editor,
    release_id: str,
    *,
    bypass_review: str | None = None,
    by: Who,
    expect: Collection[str] | None = None,
) -> Release:
    """Publish or unpublish every item; whoever reads afterwards gets all of it, and before it nothing.

    Locks the release, then its resources, blocks first and each kind by id, then moves them in that order.
    Everything is recorded at one position of the log. Raises `ReleaseBlocked` if the gate refuses any item,
    `Conflict` if the release is published already, and `ReleaseChanged` as `editing.change` does.
    """
    caller = caller_of(by)
    with changing(release_id, Right.PUBLISH, caller, expect) as release, events.together():
        refuse_published(release)
        items = locked(editor, release.items.all())
        problems = problems_of(editor, release, items, caller, bypass_review=bypass_review)
        if problems:
            raise ReleaseBlocked(problems)
        release.record("published", caller)
        _publish_items(editor, release, items, caller, bypass_review)
        release.state, release.published_at = State.PUBLISHED, timezone.now()
        release.published_by_id = caller.user_id
        if release.reverts is not None:
            _note_reverted(release.reverts, release, caller)
    return find(release_id, by=caller)


def _publish_items(
    editor: Editor, release: Release, items: list[ItemNow], by: Caller, bypass_review: str | None
) -> None:
    blocks, about = moves_of_blocks(one.item for one in items), {"releaseId": str(release.pk)}
    for one in items:
        collection = collection_of(editor, one.kind)
        with locking.changing(collection, one.resource_id, Right.PUBLISH, by) as resource:
            one.item.active_before = resource.active_version_id
            if one.item.action == Action.PUBLISH:
                activate(
                    collection, resource, one.version, by, blocks=blocks, bypass_review=bypass_review, **about
                )
            else:
                deactivate(collection, resource, by, **about)
    ReleaseItem.objects.bulk_update([one.item for one in items], ["active_before"])


def _note_reverted(reverted: Release, by_release: Release, by: Caller) -> None:
    """Note that a release was taken back, unless another one has done so."""
    still = Release.objects.filter(pk=reverted.pk, state=State.PUBLISHED)
    if still.update(state=State.REVERTED, revision=F("revision") + 1):
        reverted.record("reverted", by, revertedBy=str(by_release.pk))
