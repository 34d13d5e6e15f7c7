"""Updates schedules when their subjects are deleted or changed, and prevents some deletions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from capabilities.releases.automatic import AutomaticReleases
from capabilities.releases.models import Release
from capabilities.schedules.models import Schedule, State
from capabilities.schedules.refusals import NOT_ALLOWED, key_unusable
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Message, NotFound
from versioning.domain.events import Target, VersionName
from versioning.domain.uuids import parse_uuid
from versioning.editor.pins import KeptVersions, in_use
from versioning.models import ApiKey, VersionedResource, events
from versioning.models.followers import Follower
from versioning.serving.grants import target_of

GONE: Final = "gone"
"""The code of a schedule whose resource, version or release was deleted."""


def _end_with_resource(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    for schedule in Schedule.objects.waiting().about(resource).locked():
        schedule.end(State.FAILED, code=GONE, problem=Message("The resource was deleted."))
        schedule.record("failed", by, code=GONE)


def _end_with_release(instance: Release, **_signal: Any) -> None:
    with events.transaction():
        for schedule in Schedule.objects.waiting().filter(release_id=instance.pk).locked():
            schedule.end(State.FAILED, code=GONE, problem=Message("The release was deleted."))
            schedule.record("failed", instance.deleted_by, code=GONE)


def _scheduled_versions(resource: VersionedResource) -> Iterable[UUID]:
    waiting = Schedule.objects.waiting().about(target_of(resource, get_editor().code))
    for version_id in waiting.values_list("version_id", flat=True):
        with suppress(NotFound):  # versions in Git have ids of another kind, and no rows
            yield parse_uuid(version_id)


def _scheduled_ones(releases: Collection[UUID]) -> Iterable[UUID | None]:
    waiting = Schedule.objects.waiting().filter(release_id__in=releases)
    return waiting.values_list("release_id", flat=True)


def _take_over(release: Release, by: Caller) -> None:
    """Run the schedules of a release as the caller, who has changed its items."""
    for schedule in Schedule.objects.waiting().filter(release_id=release.pk).locked():
        before = (schedule.author_id, schedule.author_name, schedule.key_prefix)
        schedule.run_as(by)
        if (schedule.author_id, schedule.author_name, schedule.key_prefix) != before:
            schedule.save(update_fields=["author", "author_name", "key_prefix"])
            schedule.record("changed", by)


def _cancel_published(release: Release, by: Caller) -> None:
    """Cancel the schedules of a release that was published before their time."""
    for schedule in Schedule.objects.waiting().filter(release_id=release.pk).locked():
        schedule.end(State.CANCELLED)
        schedule.record("cancelled", by)


def _end_with_key(key: ApiKey, by: Caller) -> Sequence[Schedule]:
    """End what was scheduled with a revoked key; return what of it the caller may read."""
    ended = list(Schedule.objects.waiting().filter(key_prefix=key.prefix).locked())
    for schedule in ended:
        schedule.end(State.FAILED, code=NOT_ALLOWED, problem=key_unusable(key.prefix))
        schedule.record("failed", schedule.unattended, code=NOT_ALLOWED)
    covered = set(Schedule.objects.covered_by(by).filter(key_prefix=key.prefix).values_list("pk", flat=True))
    return [one for one in ended if one.pk in covered and by.may(Right.READ_DRAFTS, one.workspace_id)]


FOLLOWERS: Final = (
    Follower(call=_end_with_resource, events=["deleted"]),
    Follower(call=_end_with_release, rows="releases.Release", before=True),
)
ENDS_WITH_KEYS: Final = {"schedules": _end_with_key}
SCHEDULED_VERSIONS: Final = KeptVersions(
    pinned=_scheduled_versions, refusal=in_use(Message("is scheduled: cancel that first"))
)
SCHEDULED_RELEASES: Final = AutomaticReleases(
    among=_scheduled_ones, take_over=_take_over, published=_cancel_published
)
