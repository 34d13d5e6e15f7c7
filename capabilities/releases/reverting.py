"""Revert a release: create a new release with the versions that were live before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from capabilities.releases.editing import find, store_new
from capabilities.releases.items import ItemNow, collection_of, now
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import MAX_TITLE, Action, State
from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Conflict
from versioning.domain.texts import clip
from versioning.editor import Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class Reverting:
    """A draft release that reverts another one, and the items that it leaves out."""

    release: Release
    conflicts: Sequence[ItemNow]
    """The items of the other release whose live version has changed since."""


@retry_on_conflict
def revert(releases: Verbs, release_id: str, *, title: str = "", by: Who = APPLICATION) -> Reverting:
    """Create a draft release that goes back to what was live before a published one; moves nothing.

    By default, its `title` is that of the other one after “Revert”.

    An item is left out if another version has gone live since, such as a hotfix, or if the release did not
    change it. Raises `Conflict` for a release that is not published.
    """
    caller, editor = caller_of(by), releases.editor
    with events.transaction():
        published = find(release_id, by=caller, right=Right.SAVE)
        if published.state != State.PUBLISHED:
            raise Conflict("Only a release that is published can be reverted.", code="not_published")
        items = now(editor, published.items.select_related("release"))
        conflicts = [item for item in items if not item.is_unchanged]
        moved = [
            item for item in items if item.is_unchanged and item.item.active_before != item.item.version_id
        ]
        release = Release(
            workspace_id=published.workspace_id,
            title=clip(title or f"Revert: {published.title}", MAX_TITLE),
            created_by_id=caller.user_id,
            reverts=published,
        )
        numbers = _numbers_before(editor, moved)
        store_new(release, [_back(release, one, place, numbers) for place, one in enumerate(moved)], caller)
    return Reverting(release=find(str(release.pk), by=caller), conflicts=conflicts)


def _numbers_before(editor: Editor, items: Sequence[ItemNow]) -> Mapping[UUID, int]:
    """Return the numbers of the versions that were live before; a deleted one has none."""
    found: dict[UUID, int] = {}
    for slug in dict.fromkeys(item.kind for item in items):
        before = {item.item.active_before for item in items if item.kind == slug} - {None}
        versions = collection_of(editor, slug).model.version_model.objects.filter(pk__in=before)
        found |= dict(versions.order_by().values_list("pk", "number"))
    return found


def _back(release: Release, one: ItemNow, place: int, numbers: Mapping[UUID, int]) -> ReleaseItem:
    before = one.item.active_before
    return ReleaseItem(
        release=release,
        place=place,
        kind=one.kind,
        resource_id=one.resource_id,
        identity=one.item.identity,
        action=Action.UNPUBLISH if before is None else Action.PUBLISH,
        version_id=before,
        version_number=None if before is None else numbers.get(before),
    )
