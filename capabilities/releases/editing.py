"""Create, read, change and delete releases; `publishing` publishes them.

Every function takes the caller as `by`, and raises `NotFound` if the caller may not read the workspace,
`Forbidden` if they may read the workspace but not its drafts, or lack the right to save.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from django.db.models import QuerySet

from capabilities.releases.automatic import items_changed, require_right_to_change
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import MAX_DESCRIPTION, MAX_TITLE, ReleaseQuerySet, State
from capabilities.releases.pinning import Items, pinned, refuse_too_many
from capabilities.releases.rules import ReleaseChanged
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import ANY_ETAG, retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.verbs import Verbs

NOT_CHANGED_ANY_MORE: Final = Message("It is published, and a published release cannot be changed.")


def list_readable(
    *, workspace: str | None = None, state: str | None = None, by: Who = APPLICATION
) -> QuerySet[Release]:
    """Return the releases that the caller may read, newest first, of one workspace or in one state."""
    found = Release.objects.readable_by(caller_of(by)).with_people()
    if workspace is not None:
        found = found.filter(workspace=workspace)
    return found if state is None else found.filter(state=state)


def find(release_id: str, *, by: Who = APPLICATION, right: Right = Right.READ_DRAFTS) -> Release:
    """Return a release to a caller who has the right in its workspace."""
    return _found(Release.objects.with_people(), release_id, caller_of(by), right)


@retry_on_conflict
def create(
    releases: Verbs,
    workspace: str,
    *,
    title: str,
    description: str = "",
    items: Items = (),
    by: Who = APPLICATION,
) -> Release:
    """Create a release; an item without a version pins the latest one of its resource."""
    caller = caller_of(by)
    releases.editor.workspace.find(workspace, right=Right.SAVE, by=caller)
    release = Release(
        workspace_id=workspace,
        title=_title(title),
        description=_description(description),
        created_by_id=caller.user_id,
    )
    new_items = pinned(releases.editor, release, items, caller)
    with events.transaction():
        store_new(release, new_items, caller)
    return find(str(release.pk), by=caller)


@retry_on_conflict
def change(
    releases: Verbs,
    release_id: str,
    *,
    title: str | None = None,
    description: str | None = None,
    items: Items | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Change a draft release; None leaves a value unchanged, `items` replaces all items.

    Raises `ReleaseChanged` if none of the ETags in `expect` matches, `Conflict` once it is published, and
    `Forbidden` without the right to publish if it will be published automatically.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed):
        given = {
            "title": None if title is None else _title(title),
            "description": None if description is None else _description(description),
        }
        for name, value in given.items():
            if value is not None and value != getattr(release, name):
                setattr(release, name, value)
                changed.append(name)
        if items is not None:
            changed.extend(_replaced(release, pinned(releases.editor, release, items, caller)))
    return find(release_id, by=caller)


@retry_on_conflict
def add_items(
    releases: Verbs,
    release_id: str,
    items: Items,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Add items to a draft release; each replaces an earlier item with the same resource.

    Other items stay, even if their resource was deleted. Raises as `change` does.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed):
        known = {(item.kind, item.resource_id): item for item in release.items.all()}
        new = pinned(releases.editor, release, items, caller)
        known |= {(one.kind, one.resource_id): one for one in new}
        refuse_too_many(len(known))
        changed.extend(_replaced(release, list(known.values())))
    return find(release_id, by=caller)


@retry_on_conflict
def remove_item(
    release_id: str,
    kind: str,
    resource_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Remove a resource, even a deleted one, from a draft release; raises as `change` does.

    Raises `NotFound` if it is not in the release.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed):
        removed, _ = release.items.filter(kind=kind, resource_id=resource_id).delete()
        if not removed:
            raise NotFound
        changed.append("items")
    return find(release_id, by=caller)


@retry_on_conflict
def delete(release_id: str, *, by: Who = APPLICATION, expect: Collection[str] | None = None) -> None:
    """Delete a draft release; raises as `change` does."""
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, _changed):
        release.deleted_by = caller
        release.delete()


@contextmanager
def changing(
    release_id: str, right: Right, by: Caller, expect: Collection[str] | None = None
) -> Iterator[Release]:
    """Lock a draft release for a transaction, and save it at the end if its revision changed.

    Raises `NotFound`, `Forbidden` without the right, `ReleaseChanged` and `Conflict` as `change` does.
    """
    with events.transaction():
        release = _found(Release.objects.locked(), release_id, by, right)
        if expect is not None and ANY_ETAG not in expect and etag_of(release) not in expect:
            raise ReleaseChanged
        refuse_published(release)
        revision = release.revision
        yield release
        if release.revision != revision:
            release.save()


@contextmanager
def _editing(
    release_id: str, by: Caller, expect: Collection[str] | None
) -> Iterator[tuple[Release, list[str]]]:
    """Lock a release that the caller may change, and record the change of the fields added to the list."""
    with changing(release_id, Right.SAVE, by, expect) as release:
        require_right_to_change(release, by)
        changed: list[str] = []
        yield release, changed
        if changed:
            release.revision += 1
            release.record("changed", by, fields=changed)
        if "items" in changed:
            items_changed(release, by)


def _replaced(release: Release, items: Sequence[ReleaseItem]) -> list[str]:
    """Replace the items of a release, in this order; return the field name if that changes them."""
    if [_content(one) for one in items] == [_content(one) for one in release.items.all()]:
        return []
    release.items.all().delete()
    for place, item in enumerate(items):
        item.pk, item.place = None, place
    ReleaseItem.objects.bulk_create(items)
    return ["items"]


def _content(item: ReleaseItem) -> tuple[object, ...]:
    """Return the content of an item without its position, for comparison."""
    return item.kind, item.resource_id, item.identity, item.action, item.version_id


def etag_of(release: Release) -> str:
    """Return a text that changes with the release itself, for `If-Match`."""
    return f"{release.pk.hex}{release.revision:08x}"


def refuse_published(release: Release) -> None:
    """Raise `Conflict` for a release that is not a draft."""
    if release.state != State.DRAFT:
        raise Conflict(NOT_CHANGED_ANY_MORE, code="release_published")


def store_new(release: Release, items: Sequence[ReleaseItem], by: Caller) -> None:
    """Insert a release with its items, within a transaction, and record it."""
    release.save(force_insert=True)
    ReleaseItem.objects.bulk_create(items)
    more = {} if release.reverts_id is None else {"reverts": str(release.reverts_id)}
    release.record("created", by, **more)


def _found(rows: ReleaseQuerySet, release_id: str, by: Caller, right: Right) -> Release:
    found = rows.covered_by(by).filter(pk=parse_uuid(release_id)).first()
    if found is None or not by.may(Right.READ, found.workspace_id):
        raise NotFound
    by.require(Right.READ_DRAFTS, found.workspace_id)
    by.require(right, found.workspace_id)
    return found


def _title(text: str) -> str:
    title = text.strip()
    if not title or len(title) > MAX_TITLE:
        raise Invalid.field("title", Message("must have 1 to {limit} characters", limit=MAX_TITLE))
    return title


def _description(text: str) -> str:
    if len(text) > MAX_DESCRIPTION:
        raise Invalid.field(
            "description", Message("must not be longer than {limit} characters", limit=MAX_DESCRIPTION)
        )
    return text
