"""Run due schedules as their authors, with the current rights, policy and gate.

The change and the state of the schedule are stored in one transaction, so a schedule runs exactly once, with
any number of workers and even if one is killed.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from capabilities.releases.items import lock_items, read_ahead
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.verbs import AutomaticReleases, Releases, refuse_published
from capabilities.schedules.judging import (
    GONE,
    NOT_ALLOWED,
    SomethingElseIsLive,
    failure_code,
    failure_message,
    judge,
    key_unusable,
    person,
)
from capabilities.schedules.models import Action, NotWaiting, Schedule, ScheduleQuerySet, ScheduleState
from capabilities.schedules.times import instant
from versioning.conf import DAY, DAYS, Setting, at_most, get_editor
from versioning.domain.access import APPLICATION, Caller, Right, Via
from versioning.domain.errors import Invalid, Message, NotFound, VersioningError
from versioning.domain.events import Target, VersionName
from versioning.domain.kinds import kind_named
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.locking import Change, changing, retry_on_conflict
from versioning.editor.pins import KeptVersions, in_use
from versioning.models import ApiKey, VersionedResource, events
from versioning.models.due_work import Turns
from versioning.models.followers import Follower
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs
from versioning.worker.jobs import Periodic


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of a schedule, locked for this transaction."""

    columns: Mapping[str, Any]
    """The columns of the schedule about it."""
    live: Mapping[str, str | None]
    """The live versions, or those to expect when the schedule runs, in the form of `Schedule.expects`."""

    def expecting(self, version_id: str | None) -> Self:
        """Return it with another expected version; None for none."""
        return replace(self, live=dict.fromkeys(self.live, version_id))


@dataclass(frozen=True, kw_only=True)
class ResourceSubject(Subject):
    """A resource."""

    change: Change[Any]

    def pin_version(self, version_id: str | None, action: str, *, field: str = "versionId") -> dict[str, Any]:
        """Return the columns for the version of an action; raises `Invalid`."""
        if action == Action.UNPUBLISH:
            if version_id is not None:
                raise Invalid.field(field, "must not be given: nothing is live after unpublishing")
            return {}
        if version_id is None:
            raise Invalid.field(field, "is required")
        try:
            version = find_version(self.change.resource, version_id)
        except NotFound:
            raise Invalid.field(field, "is not a version of this resource") from None
        return {"version_id": version.version_id, "version_number": version.number}


@contextmanager
def locked_resource(editor: Editor, kind: str, resource_id: str, by: Caller) -> Iterator[ResourceSubject]:
    """Lock a resource for this transaction.

    Raises `NotFound` if the caller may not read it, and `Forbidden` without the right to publish it.
    """
    collection = editor.collection(kind_named(kind))
    with changing(collection, resource_id, Right.PUBLISH, by, include_deleted=True) as change:
        resource = change.resource
        target = target_of(resource, editor.code)
        columns = {
            "kind": target.kind,
            "resource_id": target.id,
            "identity": target.identity,
            "workspace_id": target.workspace_id,
        }
        live = {f"{target.kind}/{target.id}": resource.active_id}
        yield ResourceSubject(columns=columns, live=live, change=change)


@contextmanager
def locked_release(editor: Editor, release_id: str, by: Caller) -> Iterator[Subject]:
    """Lock a release and its resources for this transaction.

    Raises `NotFound` if the caller may not read it, `Forbidden` without the right to publish it, and
    `Conflict` if it is already published.
    """
    with events.transaction():
        events.acts(by)
        release = Release.objects.covered_by(by).with_lock().filter(pk=parse_uuid(release_id)).first()
        if release is None or not by.may(Right.READ, release.workspace_id):
            raise NotFound
        by.require(Right.PUBLISH, release.workspace_id)
        refuse_published(release)
        items = lock_items(editor, release.items.select_related("release"))
        live = {
            f"{item.kind}/{item.resource_id}": None if item.resource is None else item.resource.active_id
            for item in items
        }
        columns = {"release_id": release.pk, "workspace_id": release.workspace_id}
        yield Subject(columns=columns, live=live)


MISSED: Final = "missed"
PUNCTUAL: Final = datetime.timedelta(minutes=1)
"""The delay up to which the gate decides for the schedule's own time, and otherwise for now."""
AGAIN: Final = datetime.timedelta(seconds=30)
"""The wait of a schedule after a fault."""
SOON: Final = datetime.timedelta(seconds=2)
"""The wait after a database error, which may be temporary."""

logger = logging.getLogger(__name__)


class Runner:
    """Runs due schedules in one worker; the workspaces take turns.

    Every worker does this every second, so a killed one delays nothing: its transaction was rolled back.
    """

    def __init__(self) -> None:
        self._versions, self._releases = Turns(), Turns()

    def run_versions(self) -> None:
        """Run all due schedules of single resources."""
        while _run_next(Schedule.objects.due().of_resources(), self._versions):
            pass

    def run_releases(self) -> None:
        """Run due releases, until a schedule of a single resource is due.

        This has its own thread. A release may take a second, and blocks other writes on SQLite: so single
        resources go first, and the releases continue afterwards.
        """
        while not Schedule.objects.due().of_resources().exists():
            if not _run_next(Schedule.objects.due().of_releases(), self._releases):
                break


def _run_next(due: ScheduleQuerySet, turns: Turns) -> bool:
    """Run the first schedule of the workspace whose turn it is; return whether any was due."""
    owner = next(iter(turns.in_order(due.workspaces())), None)
    if owner is None:
        return False
    turns.begin(owner)
    try:
        # Random among schedules for the same time, so that several workers seldom try the same.
        due_in_workspace = due.filter(workspace=owner[0]).order_by("run_at", "?")
        schedule = due_in_workspace.select_related("author").first()
        if schedule is not None:
            _run_or_postpone(schedule)
    finally:
        turns.end(owner)
    return True


def _run_or_postpone(schedule: Schedule) -> None:
    try:
        run(schedule)
    except NotWaiting:
        return  # another worker was faster, or it was just cancelled
    except (OperationalError, InterfaceError):
        # If the database is unavailable, this fails as well. But if a lock is held, or a statement was too
        # slow, the fault is this schedule's, and must not delay others.
        schedule.postpone(SOON)
        raise
    except Exception:
        logger.exception("a schedule cannot be run", extra={"schedule": str(schedule.pk)})
        schedule.postpone(AGAIN)


def run(schedule: Schedule) -> None:
    """Run a schedule, and record the result; raises `NotWaiting` if it ended or was cancelled."""
    grace = datetime.timedelta(seconds=settings.EDITOR_SCHEDULE_GRACE)
    if timezone.now() > schedule.run_at + grace:
        problem = Message("No worker was running then, nor for long afterwards.")
        with events.transaction():
            schedule.fail(schedule.unattended_caller, MISSED, problem, ScheduleState.MISSED)
        return
    try:
        _act(schedule, by=person(schedule))
    except VersioningError as error:
        with events.transaction():
            schedule.fail(schedule.unattended_caller, failure_code(error), failure_message(error))


@retry_on_conflict
def _act(schedule: Schedule, *, by: Caller) -> None:
    """Perform the action and finish the schedule, in one transaction."""
    # Before the transaction, which blocks other writes on SQLite.
    items = ReleaseItem.objects.none()
    if schedule.release_id is not None:
        items = ReleaseItem.objects.filter(release=schedule.release_id)
    versions = read_ahead(get_editor(), items)
    at = schedule.run_at if timezone.now() < schedule.run_at + PUNCTUAL else timezone.now()
    with events.transaction():
        schedule.refuse_ended()  # on SQLite, another worker waited for the one that ran it
        if schedule.release_id is not None:
            release_id = str(schedule.release_id)
            editor = get_editor()
            with locked_release(editor, release_id, by) as subject:
                _refuse_unexpected(schedule, subject)
                schedule.end(
                    ScheduleState.DONE
                )  # before its release is published, which cancels pending schedules
                editor.capability(Releases).publish(release_id, versions=versions, at=at, by=by)
        else:
            _move_resource(schedule, by, at)
            schedule.end(ScheduleState.DONE)
        schedule.record("done", by)


def _move_resource(schedule: Schedule, by: Caller, at: datetime.datetime) -> None:
    """Publish or unpublish a resource.

    Raises the errors of the gate, and `SomethingElseIsLive` if the live version is not the expected one.
    """
    with locked_resource(get_editor(), schedule.kind, schedule.resource_id, by) as subject:
        if subject.columns["identity"] != schedule.identity:
            raise NotFound("The resource was deleted.", code=GONE)
        _refuse_unexpected(schedule, subject)
        if schedule.action == Action.PUBLISH:
            try:
                version = find_version(subject.change.resource, schedule.version_id)
            except NotFound:  # or a file, whose error has another code
                raise NotFound("The version was deleted.", code=GONE) from None
            subject.change.activate(version, at=at, scheduleId=str(schedule.pk))
        else:
            subject.change.deactivate(at=at, scheduleId=str(schedule.pk))


def _refuse_unexpected(schedule: Schedule, subject: Subject) -> None:
    for name, live in subject.live.items():
        if schedule.is_unexpected(name, live):
            raise SomethingElseIsLive


SETTINGS: Final = (
    Setting(
        "EDITOR_SCHEDULE_GRACE",
        86400,
        "how many seconds late a [schedule](api.md#schedules) still runs",
        check=at_most(DAYS * DAY),
    ),
)


def _end_with_resource(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    for schedule in Schedule.objects.waiting().about(resource).with_lock():
        schedule.fail(by, GONE, Message("The resource was deleted."))


def _end_with_release(instance: Release, **_signal: Any) -> None:
    with events.transaction():
        for schedule in Schedule.objects.waiting().filter(release_id=instance.pk).with_lock():
            schedule.fail(instance.deleted_by, GONE, Message("The release was deleted."))


def _scheduled_versions(resource: VersionedResource) -> Iterable[UUID]:
    waiting = Schedule.objects.waiting().about(target_of(resource, get_editor().code))
    for version_id in waiting.values_list("version_id", flat=True):
        with suppress(NotFound):  # versions in Git have ids of another kind, and no rows
            yield parse_uuid(version_id)


def _take_over(release: Release, by: Caller) -> None:
    """Run the schedules of a release as the caller, who has changed its items."""
    for schedule in Schedule.objects.waiting().filter(release_id=release.pk).with_lock():
        before = (schedule.author_id, schedule.author_name, schedule.key_prefix)
        schedule.run_as(by)
        if (schedule.author_id, schedule.author_name, schedule.key_prefix) != before:
            schedule.save(update_fields=["author", "author_name", "key_prefix"])
            schedule.record("changed", by)


def _cancel_published(release: Release, by: Caller) -> None:
    """Cancel the schedules of a release that was published before their time."""
    for schedule in Schedule.objects.waiting().filter(release_id=release.pk).with_lock():
        schedule.end(ScheduleState.CANCELLED)
        schedule.record("cancelled", by)


def _end_with_key(key: ApiKey, by: Caller) -> Sequence[Schedule]:
    """End the schedules of a revoked key; return those that the caller may read."""
    ended = list(Schedule.objects.waiting().filter(key_prefix=key.prefix).with_lock())
    for schedule in ended:
        schedule.fail(schedule.unattended_caller, NOT_ALLOWED, key_unusable(key.prefix))
    covered = set(Schedule.objects.covered_by(by).filter(key_prefix=key.prefix).values_list("pk", flat=True))
    return [
        schedule
        for schedule in ended
        if schedule.pk in covered and by.may(Right.READ_DRAFTS, schedule.workspace_id)
    ]


FOLLOWERS: Final = (
    Follower(call=_end_with_resource, events=["deleted"]),
    Follower(call=_end_with_release, rows="releases.Release", before=True),
)
ENDS_WITH_KEYS: Final = {"schedules": _end_with_key}
SCHEDULED_VERSIONS: Final = KeptVersions(
    pinned=_scheduled_versions, refusal=in_use(Message("is scheduled: cancel that first"))
)
SCHEDULED_RELEASES: Final = AutomaticReleases(
    among=lambda releases: (
        Schedule.objects.waiting().filter(release_id__in=releases).values_list("release_id", flat=True)
    ),
    take_over=_take_over,
    published=_cancel_published,
)


AT_ONCE: Final = 100
"""The number of schedules that are judged with the same statements."""
REST: Final = 10
"""The pause after a check, as a multiple of its duration."""
LONGEST_WAIT: Final = 600.0
"""Seconds after which all are judged even if the log has not moved, because it does not record everything."""


def remember(schedules: Verbs, new_schedules: Sequence[Schedule]) -> None:
    """Store the problems of new schedules: their author sees these, and is notified of changes."""
    for schedule in judge(schedules, new_schedules):
        schedule.known_problems = schedule.problem_codes
    if any(schedule.known_problems for schedule in new_schedules):
        Schedule.objects.bulk_update(new_schedules, ["known_problems"])


class Watch:
    """Checks whether the problems of schedules have changed since their authors were notified."""

    def __init__(self) -> None:
        self._position = -1
        self._began = self._ended = -LONGEST_WAIT

    def look_if_moved(self) -> None:
        """Check if the log has moved since the last check: it contains nearly everything that matters.

        With very many schedules, most of the time is left to other work.
        """
        now = time.monotonic()
        if now < self._ended + REST * (self._ended - self._began):
            return
        position = events.position()
        if position != self._position or now > self._ended + LONGEST_WAIT:
            look()
            self._position, self._began, self._ended = position, now, time.monotonic()


def look() -> None:
    """Notify the authors of waiting schedules of changes; several workers may do so at once."""
    schedules: Verbs = get_editor().schedules
    waiting = Schedule.objects.waiting().order_by("pk")
    batch = list(waiting[:AT_ONCE])
    while batch:
        for schedule in judge(schedules, batch):
            codes, known_codes = schedule.problem_codes, schedule.known_problems
            if codes != known_codes:
                with events.transaction():
                    row = Schedule.objects.waiting().filter(pk=schedule.pk, known_problems=known_codes)
                    if row.update(known_problems=codes):
                        by = replace(APPLICATION, via=Via.SCHEDULE)
                        schedule.record("changed", by, problems=codes.split())
        batch = list(waiting.filter(pk__gt=batch[-1].pk)[:AT_ONCE])


SECONDS: Final = 1.0
"""The seconds between a worker's checks for due schedules."""
LOOK: Final = 5.0
"""The seconds between a worker's checks whether to notify the authors of schedules."""
HOUR: Final = 3600.0


def follow_time_zones() -> None:
    """Update schedules with a local time to the current rules of their time zones.

    Nine o'clock in Berlin stays nine o'clock, even if a law changes the clocks after it was scheduled. A
    local time that no longer exists keeps its time in UTC.
    """
    for schedule in Schedule.objects.waiting().exclude(time_zone=""):
        now = instant(schedule.local_time, schedule.time_zone)
        if now is not None and now != schedule.run_at:
            still = Schedule.objects.waiting().filter(pk=schedule.pk, run_at=schedule.run_at)
            still.update(run_at=now, due_at=now)


_runner: Final = Runner()
_watch: Final = Watch()
JOBS: Final = (
    Periodic(name="schedules", run=_runner.run_versions, every=SECONDS, in_each_worker=True),
    Periodic(name="scheduled releases", run=_runner.run_releases, every=SECONDS, in_each_worker=True),
    Periodic(name="news of schedules", run=_watch.look_if_moved, every=LOOK, in_each_worker=True),
    Periodic(name="time zones of schedules", run=follow_time_zones, every=HOUR),
)
