"""Make, read, change and delete releases; what they hold is published in `publishing`.

Every function takes the caller as `by`, and raises `NotFound` where the caller may not read the workspace,
`Forbidden` where it may read the workspace but not its drafts, or lacks the right to save.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.db.models import QuerySet
from editor_client.shared import ids

from releases.models import Release, ReleaseItem
from releases.models.releases import MAX_DESCRIPTION, MAX_ITEMS, MAX_TITLE, Action, State
from releases.together.decided import require_right_to_items
from releases.together.items import collection_of, is_file
from releases.together.rules import KINDS_BY_WORD, ReleaseChanged, refuse_twice
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, Issue, NotFound
from versioning.editor import Editor
from versioning.editor.locking import ANY_TAG, retried
from versioning.editor.resources import Who, caller_of
from versioning.models import events

Items = Sequence[Mapping[str, Any]]
"""`{"resource": {"kind", "id"}, "action"?, "versionId"?}`, as in JSON."""

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
    pinned = _pinned(editor, release, items)
    with events.transaction():
        store_new(release, pinned, caller)
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
            pinned = _pinned(editor, release, items)
            release.items.all().delete()
            ReleaseItem.objects.bulk_create(pinned)
        # What the selector `release` serves depends on it, and no event says so.
        events.acts(caller)
        events.touch()
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


def _found(rows: QuerySet[Release], release_id: str, by: Caller, right: Right) -> Release:
    found = rows.filter(pk=_uuid(release_id)).first()
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


def _pinned(editor: Editor, release: Release, items: Items) -> list[ReleaseItem]:
    """Return the items to store; raises `Invalid` naming each that has a problem."""
    if len(items) > MAX_ITEMS:
        raise Invalid.field("items", f"must not be more than {MAX_ITEMS}")
    named = [
        ReleaseItem(
            release=release,
            place=place,
            kind=item["resource"]["kind"],
            resource_id=item["resource"]["id"],
            action=item.get("action", Action.PUBLISH),
        )
        for place, item in enumerate(items)
    ]
    refuse_twice(named)
    rows = {word: _resources(editor, release, named, word) for word in KINDS_BY_WORD}
    issues: list[Issue] = []
    for item, given in zip(named, items, strict=True):
        resource = rows[item.kind].get(item.resource_id)
        if resource is None:
            singular = KINDS_BY_WORD[item.kind].singular
            message = f"is no {singular} that is stored in this workspace"
            issues.append(Issue(f"items.{item.place}.resource", message))
        elif is_file(editor, resource):
            message = "is an override that is kept as a file, which no release can publish"
            raise Invalid.field(f"items.{item.place}.resource", message, code="code_source")
        else:
            item.identity = resource.uuid
            issues += _pin(item, resource, given.get("versionId"))
    if issues:
        raise Invalid(issues)
    return named


def _resources(
    editor: Editor, release: Release, items: Sequence[ReleaseItem], word: str
) -> Mapping[str, Any]:
    """Return the resources of a kind that the items name in the workspace of the release, by id."""
    wanted = [item.resource_id for item in items if item.kind == word and not ids.problem(item.resource_id)]
    if not wanted:
        return {}
    rows = collection_of(editor, word).all.filter(pk__in=wanted, workspace_id=release.workspace_id)
    return {row.pk: row for row in rows}


def _pin(item: ReleaseItem, resource: Any, version_id: str | None) -> Iterator[Issue]:
    """Set the version of an item; yield what is wrong with it."""
    place = f"items.{item.place}.versionId"
    if item.action == Action.UNPUBLISH:
        if version_id is not None:
            yield Issue(place, "must be absent where the action is 'unpublish'")
        return
    wanted = resource.latest_version_id if version_id is None else _parsed(version_id)
    version = resource.versions.filter(pk=wanted).values_list("pk", "number").first() if wanted else None
    if version is None:
        yield Issue(place, "is no version of this resource")
        return
    item.version_id, item.version_number = version


def _parsed(text: str) -> uuid.UUID | None:
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return None
    return parsed if str(parsed) == text else None


def _uuid(text: str) -> uuid.UUID:
    parsed = _parsed(text)
    if parsed is None:
        raise NotFound
    return parsed
