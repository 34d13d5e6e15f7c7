"""Discard a draft: delete what was saved since the live version was published."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from typing import Any

from versioning.domain.access import APPLICATION
from versioning.domain.errors import Message, NotFound
from versioning.domain.snapshots import Snapshot, reference_to
from versioning.editor.collection import Collection
from versioning.editor.locking import retried
from versioning.editor.resources import Who
from versioning.models import VersionedResource, events


def discardable(resource: VersionedResource) -> list[Snapshot]:
    """Return the versions that discarding the draft would delete, newest first.

    If nothing is live, that is the latest version alone. Raises `NotFound` if there are none.
    """
    if not resource.has_draft:
        raise NotFound("There is no draft: what was saved last is live.")
    if resource.is_taken_down:
        raise NotFound("There is no draft: what was saved last was live until it was unpublished.")
    if resource.active is None or resource.published_at is None:
        return [resource.latest]
    rows = resource.versions.select_related("author").defer("config_json", "search_text")
    newer: list[Snapshot] = list(rows.filter(created_at__gt=resource.published_at))
    if not newer:
        # An older version was published again, so what came after it is history, not a draft.
        raise NotFound(
            Message(
                "Nothing was saved since {version} was published. Versions that are newer than it can be "
                "deleted in the history.",
                version=reference_to(resource.active),
            )
        )
    return newer


@retried
def discard_draft(
    collection: Collection[Any],
    resource_id: str,
    versions: list[Snapshot],
    *,
    expect: AnyCollection[str],
    by: Who = APPLICATION,
) -> None:
    """Delete the versions that `discardable` returned, all or none; raises as `delete_version` does."""
    with events.transaction():
        # The newest first, so that each version is the draft when it is deleted.
        for version in versions:
            collection.delete_version(resource_id, version.version_id, by=by, expect=set(expect))
            expect = {"*"}
