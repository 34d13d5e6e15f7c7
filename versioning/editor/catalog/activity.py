"""What was saved and published last, as far as the caller may read it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, Q

from versioning.domain.access import Right
from versioning.domain.snapshots import subject_of
from versioning.editor.catalog.catalog import Catalog, sliced
from versioning.editor.catalog.entries import Entry
from versioning.models import Version, VersionedResource
from versioning.models.querysets import within

_VERSIONS_PER_RESOURCE: Final = 5
"""The number of own versions to read per wanted resource, since several can belong to the same one."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """One thing that somebody did to a resource."""

    entry: Entry
    at: datetime.datetime
    by: str | None
    """None for the application, or if it is not known."""
    message: str = ""


def drafts(catalog: Catalog, limit: int) -> Iterator[Activity]:
    """Yield the newest unpublished drafts in the workspaces where the caller may save."""
    waiting = Q(active_version__isnull=True) | ~Q(active_version=F("latest_version"))
    own = within("workspace_id", catalog.caller.scope(Right.SAVE))
    rows = catalog.rows.filter(waiting, own).order_by("-updated_at", "id")
    in_files = _in_files(catalog, lambda found: found.has_draft, Right.SAVE)
    for _, entry in _with_entries(catalog, [*sliced(rows, 0, limit), *in_files]):
        if entry.version is not None:
            yield Activity(
                entry=entry,
                at=entry.version.created_at,
                by=entry.version.author_name,
                message=subject_of(entry.version.change_message),
            )


def publications(catalog: Catalog, limit: int) -> Iterator[Activity]:
    """Yield what was published last."""
    rows = catalog.rows.filter(published_at__isnull=False)
    rows = rows.select_related("published_by").order_by("-published_at", "id")
    in_files = _in_files(catalog, lambda found: found.active is not None, Right.READ)
    for resource, entry in _with_entries(catalog, [*sliced(rows, 0, limit), *in_files]):
        at, by = _publication(resource)
        yield Activity(entry=entry, at=at, by=by)


def own_edits(catalog: Catalog, limit: int) -> Iterator[Activity]:
    """Yield what the caller saved last, each resource once."""
    caller = catalog.caller
    versions: Any = catalog.collection.model.version_model._default_manager.filter(author_id=caller.user_id)
    versions = versions.filter(within("resource__workspace_id", caller.scope(Right.READ_DRAFTS)))
    versions = versions.defer("config_json", "search_text").order_by("-created_at")
    newest: dict[str, Version] = {}
    for version in versions[: limit * _VERSIONS_PER_RESOURCE]:
        newest.setdefault(version.resource_id, version)
    rows = catalog.rows.filter(pk__in=list(newest)[:limit])
    in_files = _in_files(catalog, lambda found: found.pk in newest, Right.READ)
    for resource, entry in _with_entries(catalog, [*rows, *in_files]):
        version = newest[resource.pk]
        message = subject_of(version.change_message)
        yield Activity(entry=entry, at=version.created_at, by=caller.username, message=message)


def _in_files(
    catalog: Catalog, wanted: Callable[[VersionedResource], bool], right: Right
) -> list[VersionedResource]:
    """Return the wanted overrides that are stored in files; there are few."""
    found = catalog.collection.unstored(by=catalog.caller)
    return [one for one in found if catalog.caller.may(right, one.workspace_id) and wanted(one)]


def _publication(resource: Any) -> tuple[datetime.datetime, str | None]:
    """Return when the published version was published, and by whom; for a file only its commit tells."""
    if resource.published_since is None:
        return resource.active.created_at, resource.active.author_name
    by = resource.published_by
    return resource.published_since, by.get_username() if by else None


def _with_entries(catalog: Catalog, resources: list[Any]) -> Iterable[tuple[Any, Entry]]:
    return zip(resources, catalog.entries(resources), strict=True)
