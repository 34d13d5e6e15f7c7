"""Make, read, change and delete releases; what they hold is published in `publishing`.

Every function takes the caller as `by`, and raises `NotFound` where the caller may not read the workspace,
`Forbidden` where it may read the workspace but not its drafts, or lacks the right to save.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

from django.db.models import QuerySet

from releases.automatic import require_right_to_items
from releases.models import Release, ReleaseItem
from releases.models.releases import MAX_DESCRIPTION, MAX_TITLE, State
from releases.pinning import Items, pinned, refuse_too_many
from releases.rules import ReleaseChanged
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.uuids import uuid_of
from versioning.editor import Editor
from versioning.editor.locking import ANY_TAG, retried
from versioning.editor.resources import Who, caller_of
from versioning.models import events

NOT_CHANGED_ANY_MORE: Final = "It is published, and what was published is not changed any more."


def listed(*, by: Who, workspace_id: str | None = None, state: str | None = None) -> QuerySet[Release]:
    """Return the releases that the caller may read, newest first, of one workspace or in one state."""
    found = Release.objects.readable_by(caller_of(by)).with_people()
    if workspace_id is not None:
        found = found.filter(workspace=workspace_id)
    return found if state is None else found.filter(state=state)


def find(release_id: str, *, by: Who, right: Right = Right.READ_DRAFTS) -> Release:
    """Return a release to somebody who has the right in its workspace."""
    return _found(Release.objects.with_people(), release_id, caller_of(by), right)


@retried
def create(
    editor: Editor, workspace_id: str, *, title: str, description: str = "", items: Items = (), by: Who
) -> Release:
    """Make a release; an item without a version pins the latest one of its resource."""
    caller = caller_of(by)
    editor.workspace.find(workspace_id, right=Right.SAVE, by=caller)
    release = Release(
        workspace_id=workspace_id,
        title=_title(title),
        description=_description(description),
        created_by_id=caller.user_id,
    )
    new_items = pinned(editor, release, items)
    with events.transaction():
        store_new(release, new_items, caller)
    return find(str(release.pk), by=caller)


@retried
def change(
    editor: Editor,
    release_id: str,
    *,
    title: str | None = None,
    description: str | None = None,
    items: Items | None = None,
    by: Who,
    expect: Collection[str] | None = None,
) -> Release:
    """Change a draft release: what is None stays, `items` replaces all of them.

    Raises `ReleaseChanged` if `expect` names tags and none is the release's, `Conflict` once it is published,
    and `Forbidden` for the items of one that is scheduled without the right to publish.
    """
    caller = caller_of(by)
    with changing(release_id, Right.SAVE, caller, expect) as release:
        refuse_published(release)
        release.title = release.title if title is None else _title(title)
        release.description = release.description if description is None else _description(description)
        if items is not None:
            require_right_to_items(release, caller)
            new_items = pinned(editor, release, items)
            release.items.all().delete()
            ReleaseItem.objects.bulk_create(new_items)
        _note_change(caller)
    return find(release_id, by=caller)


@retried
def add_items(
    editor: Editor, release_id: str, items: Items, *, by: Who, expect: Collection[str] | None = None
) -> Release:
    """Add items to a draft release; one whose resource is in it already takes the place of the earlier one.

    What else is in the release stays, also where it is gone by now. Raises as `change` does.
    """
    caller = caller_of(by)
    with changing(release_id, Right.SAVE, caller, expect) as release:
        refuse_published(release)
        require_right_to_items(release, caller)
        added = pinned(editor, release, items)
        known = {(one.kind, one.resource_id): one for one in release.items.all()}
        places = count(max((one.place for one in known.values()), default=-1) + 1)
        replaced = []
        for item in added:
            earlier = known.get((item.kind, item.resource_id))
            item.place = next(places) if earlier is None else earlier.place
            if earlier is not None:
                replaced.append(earlier.pk)
        refuse_too_many(len(known) - len(replaced) + len(added))
        release.items.filter(pk__in=replaced).delete()
        ReleaseItem.objects.bulk_create(added)
        _note_change(caller)
    return find(release_id, by=caller)


@retried
def remove_item(
    release_id: str, kind: str, resource_id: str, *, by: Who, expect: Collection[str] | None = None
) -> Release:
    """Take a resource out of a draft release, also one that is gone; raises as `change` does.

    Raises `NotFound` if it is not in the release.
    """
    caller = caller_of(by)
    with changing(release_id, Right.SAVE, caller, expect) as release:
        refuse_published(release)
        require_right_to_items(release, caller)
        removed, _ = release.items.filter(kind=kind, resource_id=resource_id).delete()
        if not removed:
            raise NotFound
        _note_change(caller)
    return find(release_id, by=caller)


@retried
def delete(release_id: str, *, by: Who, expect: Collection[str] | None = None) -> None:
    """Delete a draft release; raises as `change` does."""
    caller = caller_of(by)
    with changing(release_id, Right.SAVE, caller, expect) as release:
        refuse_published(release)
        release.deleted_by = caller
        release.delete()


@contextmanager
def changing(
    release_id: str, right: Right, by: Caller, expect: Collection[str] | None = None
) -> Iterator[Release]:
    """Lock a release for a transaction, and save it at the end unless it was deleted."""
    with events.transaction():
        release = _found(Release.objects.locked(), release_id, by, right)
        if expect is not None and ANY_TAG not in expect and tag_of(release) not in expect:
            raise ReleaseChanged
        yield release
        if release.pk is not None:
            release.revision += 1
            release.save()


def tag_of(release: Release) -> str:
    """Return a text that changes with the release itself, for `If-Match`."""
    return f"{release.pk.hex}{release.revision:08x}"


def refuse_published(release: Release) -> None:
    """Raise `Conflict` for a release that is no draft any more."""
    if release.state != State.DRAFT:
        raise Conflict(NOT_CHANGED_ANY_MORE, code="release_published")


def store_new(release: Release, items: Sequence[ReleaseItem], by: Caller) -> None:
    """Insert a release with its items, within a transaction, and record it."""
    release.save(force_insert=True)
    ReleaseItem.objects.bulk_create(items)
    more = {} if release.reverts_id is None else {"reverts": str(release.reverts_id)}
    release.record("created", by, **more)


def _note_change(by: Caller) -> None:
    """Note that the selector `release` may serve something else from now on: no event says so."""
    events.acts(by)
    events.touch()


def _found(rows: QuerySet[Release], release_id: str, by: Caller, right: Right) -> Release:
    found = rows.filter(pk=uuid_of(release_id)).first()
    if found is None or not by.may(Right.READ, found.workspace_id):
        raise NotFound
    by.require(Right.READ_DRAFTS, found.workspace_id)
    by.require(right, found.workspace_id)
    return found


def _title(text: str) -> str:
    title = text.strip()
    if not title or len(title) > MAX_TITLE:
        raise Invalid.field("title", f"must have 1 to {MAX_TITLE} characters")
    return title


def _description(text: str) -> str:
    if len(text) > MAX_DESCRIPTION:
        raise Invalid.field("description", f"must not be longer than {MAX_DESCRIPTION} characters")
    return text
