"""Discarding a draft: deleting what was saved since the live version was published."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from typing import Any

from versioning.domain.access import APPLICATION
from versioning.domain.errors import NotFound
from versioning.domain.snapshots import Snapshot, reference_to
from versioning.editor.collection import Collection
from versioning.editor.resources import Who
from versioning.models import VersionedResource, events


def discardable(resource: VersionedResource) -> list[Snapshot]:
    """Return the versions that discarding the draft deletes, newest first; of what never was live, one.

    Raises `NotFound` when there are none.
    """
    if not resource.has_draft:
        raise NotFound("There is no draft: what was saved last is live.")
    if resource.active is None or resource.published_at is None:
        return [resource.latest]
    rows = resource.versions.select_related("author").defer("config_json", "search_text")
    newer: list[Snapshot] = list(rows.filter(created_at__gt=resource.published_at))
    if not newer:
        # An older version was published again: what came after it is history, not a draft of it.
        raise NotFound(
            f"Nothing was saved since {reference_to(resource.active)} was published. "
            "Versions that are newer than it can be deleted in the history."
        )
    return newer


def discard_draft(
    collection: Collection[Any],
    resource_id: str,
    versions: list[Snapshot],
    *,
    expect: AnyCollection[str],
    by: Who = APPLICATION,
) -> None:
    """Delete the versions that `discardable` named, all or none; raises what `delete_version` raises."""
    with events.transaction():
        # The newest first, so that each is the draft when its turn comes.
        for version in versions:
            collection.delete_version(resource_id, version.version_id, by=by, expect=set(expect))
            expect = {"*"}
