"""The frame of every change: lock, check rights and expectations, and save at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeVar, cast

from django.conf import settings

from versioning.domain.access import Caller, Right, RightsChanged
from versioning.domain.errors import EditConflict, NotFound
from versioning.editor.changes import record
from versioning.editor.pins import pinned_versions
from versioning.editor.resources import Resources
from versioning.models import Version, VersionedResource
from versioning.sources.files import OverrideChanged

R = TypeVar("R", bound=VersionedResource)
V = TypeVar("V", bound=Callable[..., Any])

ANY_ETAG: Final = "*"
_ATTEMPTS: Final = 3


@contextmanager
def changing(
    resources: Resources[R],
    resource_id: str,
    right: Right,
    by: Caller,
    expect: Collection[str] | None = None,
    *,
    include_deleted: bool = False,
    for_deletion: bool = False,
) -> Iterator[R]:
    """Lock a resource for this transaction and save it at the end.

    Raises `NotFound`, `Forbidden` without the right, `EditConflict` when `expect` names ETags and none of
    them is the resource's. `include_deleted` also accepts a resource of which only the history is left.
    """
    with resources.backend.locked(resource_id, by, for_deletion=for_deletion) as resource:
        if resource.gone and not include_deleted:
            raise NotFound
        with changing_locked(resources, resource, right, by, expect):
            yield resource


@contextmanager
def changing_locked(
    resources: Resources[R], resource: R, right: Right, by: Caller, expect: Collection[str] | None = None
) -> Iterator[None]:
    """Save a resource that this transaction has already locked, at the end; otherwise like `changing`."""
    by.require(right, resource.workspace_id)
    if expect is not None and ANY_ETAG not in expect and resource.etag not in expect:
        raise EditConflict(current_state(resource))
    revision, last_number = resource.revision, resource.last_number
    yield
    if resource.revision != revision:
        resources.backend.store(resource)
    if resource.last_number != last_number and settings.EDITOR_KEEP_VERSIONS:
        drop_old_versions(resources, resource, settings.EDITOR_KEEP_VERSIONS, by)


def retry_on_conflict(verb: V) -> V:
    """Repeat a verb when the override file or the caller's rights changed while it ran.

    The result is as if the verb had begun after that change.
    """

    @wraps(verb)
    def repeating(*args: Any, **named: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            try:
                return verb(*args, **named)
            except OverrideChanged:
                continue
            except RightsChanged as error:
                named["by"] = error.caller
        return verb(*args, **named)

    return cast("V", repeating)


def drop_old_versions(resources: Resources[R], resource: R, keep: int, by: Caller) -> int:
    """Delete the old versions of a locked resource that are not in use; return how many were deleted."""
    needed = {resource.active_version_id, resource.latest_version_id}
    if resource.active is not None and not resource.active.read_only:
        needed.add(cast("Version", resource.active).pk)
    needed.update(resource.labels.values_list("version_id", flat=True))
    needed.update(resource.versions.values_list("pk", flat=True)[:keep])
    needed |= pinned_versions(resource)
    old = resource.versions.exclude(pk__in=[pk for pk in needed if pk is not None])
    pruned = list(old.only("pk", "number", "author_id").order_by("number"))
    for version in pruned:
        record(resources, "versionDeleted", resource, by, version=version, pruned=True)
    if pruned:
        old.delete()
    return len(pruned)


def current_state(resource: VersionedResource) -> dict[str, Any]:
    """Return the state that `EditConflict` reports: the two pointers, and who saved last."""
    latest = resource.latest
    return {
        "latestVersionId": latest.version_id,
        "activeVersionId": resource.active_id,
        "savedBy": latest.author_name,
        "savedAt": latest.created_at,
        "changedFields": latest.changed_fields,
    }
