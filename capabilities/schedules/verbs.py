"""The verbs of schedules: find, create (one, or a beginning with its end), change the time, cancel."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from capabilities.releases.models import ReleaseItem
from capabilities.schedules import judging
from capabilities.schedules.models import Action, Schedule, ScheduleQuerySet, ScheduleState
from capabilities.schedules.running import Subject, locked_release, locked_resource, remember
from capabilities.schedules.times import When, in_utc, in_zone, is_local
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Issue, Message, NotFound
from versioning.domain.kinds import KINDS_BY_SLUG, ResourceKind
from versioning.domain.uuids import is_uuid, parse_uuid
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.models.querysets import within
from versioning.verbs import Verbs

CURRENT: Final = "\0current"
"""Stands for the version that is live when the schedule is created."""
_SAME: Final = (
    "workspace_id",
    "kind",
    "resource_id",
    "identity",
    "release_id",
    "action",
    "version_id",
    "run_at",
)
"""The fields in which a repeated schedule equals the cancelled one."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """A given time: in UTC, or as a local time in a time zone."""

    run_at: str | None = None
    local_time: str | None = None
    time_zone: str | None = None

    @property
    def field(self) -> str:
        """The name of the time in problems."""
        return "localTime" if self.run_at is None else "runAt"

    def begin(self) -> When:
        """Return the beginning; raises `Invalid`."""
        now = timezone.now()
        if self.run_at is not None:
            if self.local_time is not None or self.time_zone is not None:
                raise Invalid.field("runAt", "must not be given together with localTime and timeZone")
            return in_utc(self.run_at, field="runAt", now=now)
        if self.local_time is None or self.time_zone is None:
            local_fields = {"localTime": self.local_time, "timeZone": self.time_zone}
            missing = [name for name, value in local_fields.items() if value is None]
            raise Invalid([Issue(name, "is required, unless runAt is given") for name in missing])
        return in_zone(self.local_time, self.time_zone, field="localTime", now=now)

    def end(self, until: str, begin: When) -> When:
        """Return the end, which is after the beginning; without an offset it is in the same time zone.

        Raises `Invalid`.
        """
        now = timezone.now()
        if self.time_zone is not None and is_local(until):
            end = in_zone(until, self.time_zone, field="until", now=now)
        else:
            end = in_utc(until, field="until", now=now)
        if end.run_at <= begin.run_at:
            raise Invalid.field("until", "must be after the beginning")
        return end


class ScheduleEnded(Conflict):
    """A schedule is no longer waiting: it has run, or it was cancelled."""

    code = "schedule_ended"

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(
            Message("This schedule is {state} and can no longer be changed.", state=schedule.state)
        )


def find(schedules: Verbs, schedule_id: str, *, by: Who = APPLICATION) -> Schedule:
    """Return a schedule.

    Raises `NotFound` if there is none or the caller may not read its subject, and `Forbidden` if the caller
    may read that but not its drafts.
    """
    by = caller_of(by)
    schedule = Schedule.objects.filter(pk=parse_uuid(schedule_id)).first()
    if schedule is None:
        raise NotFound
    refuse_unreadable(schedules, schedule, by)
    return schedule


def list_readable(
    schedules: Verbs,
    *,
    kind: str | None = None,
    resource_id: str | None = None,
    release_id: str | None = None,
    state: str | None = None,
    workspace_id: str | None = None,
    by: Who = APPLICATION,
) -> ScheduleQuerySet:
    """Return the schedules that the caller may read; all arguments narrow the list."""
    by = caller_of(by)
    readable = Schedule.objects.covered_by(by).filter(within("workspace", by.scope(Right.READ_DRAFTS)))
    filters = {
        "kind": kind,
        "resource_id": resource_id,
        "release_id": release_id,
        "state": state,
        "workspace": workspace_id,
    }
    if release_id is not None and not is_uuid(release_id):
        return readable.none()
    return readable.filter(**{name: value for name, value in filters.items() if value is not None})


def refuse_unreadable(schedules: Verbs, schedule: Schedule, by: Caller) -> None:
    """Raise unless the caller may read the drafts of a schedule's subject.

    Raises `Forbidden` if the caller may read the resource, or a release's workspace, and `NotFound`
    otherwise.
    """
    if not Schedule.objects.covered_by(by).filter(pk=schedule.pk).exists():
        raise NotFound
    if by.may(Right.READ_DRAFTS, schedule.workspace_id):
        return
    if schedule.release_id is None:
        collection = schedules.editor.collection(KINDS_BY_SLUG[schedule.kind])
        collection.versions(schedule.resource_id, by=by)  # raises in either case
    elif by.may(Right.READ, schedule.workspace_id):
        by.require(Right.READ_DRAFTS, schedule.workspace_id)
    raise NotFound


@retry_on_conflict
def create(
    schedules: Verbs,
    kind: str,
    resource_id: str,
    times: Times,
    *,
    version_id: str | None = None,
    action: str = Action.PUBLISH,
    until: str | None = None,
    then: str | None = None,
    expects: str | None = CURRENT,
    force: bool = False,
    by: Who = APPLICATION,
) -> Schedule:
    """Schedule a version of a resource for a time; requires the right to publish.

    With `until` and the version `then` there are two schedules: the second makes that version live again. The
    current live version, or the one in `expects`, must still be live by then, unless `force` is set. The gate
    decides only then; its current refusals are in `problems` of the schedule. Raises `Invalid`, `NotFound`
    and `Forbidden`.
    """
    by = caller_of(by)
    begin = times.begin()
    end = times.end(until, begin) if until is not None else None
    if (until is None) != (then is None):
        missing, present = ("until", "then") if until is None else ("then", "until")
        raise Invalid.field(missing, Message("is required together with {field}", field=present))
    with locked_resource(schedules.editor, kind, resource_id, by) as locked:
        pinned = locked.pin_version(version_id, action)
        if expects is not CURRENT and expects is not None:
            locked.pin_version(expects, Action.PUBLISH, field="expects")  # raises for an unknown version
        subject = locked if expects is CURRENT else locked.expecting(expects)
        schedule = _insert(subject, begin, by, action=action, force=force, **pinned)
        pair = [schedule]
        if end is not None:
            back = locked.pin_version(then, Action.PUBLISH, field="then.versionId")
            after = subject.expecting(version_id)
            pair += [_insert(after, end, by, action=Action.PUBLISH, force=force, follows=schedule, **back)]
        remember(schedules, pair)
        return schedule


@retry_on_conflict
def create_for_release(
    schedules: Verbs, release_id: str, times: Times, *, force: bool = False, by: Who = APPLICATION
) -> Schedule:
    """Schedule a release for a time; requires the right to publish.

    The current live versions of all its resources must still be live by then, unless `force` is set. Raises
    `Invalid`, `NotFound`, `Forbidden`, and `Conflict` for a release that is already published.
    """
    by = caller_of(by)
    begin = times.begin()
    with locked_release(schedules.editor, release_id, by) as subject:
        schedule = _insert(subject, begin, by, force=force)
        remember(schedules, [schedule])
        return schedule


@retry_on_conflict
def change(schedules: Verbs, schedule_id: str, times: Times, *, by: Who = APPLICATION) -> Schedule:
    """Change the time of a schedule; raises `ScheduleEnded` if it is no longer waiting.

    A pair must stay in order: raises `Invalid` otherwise.
    """
    by = caller_of(by)
    when = times.begin()
    with _changing(schedules, schedule_id, by) as schedule:
        begins, ends = schedule.follows, schedule.end_of_pair
        if begins is not None and when.run_at <= begins.run_at:
            raise Invalid.field(times.field, "must be after the beginning that it ends")
        if ends is not None and when.run_at >= ends.run_at:
            raise Invalid.field(times.field, "must be before its end")
        before = schedule.run_at
        schedule.set_time(when)
        schedule.save()
        if schedule.run_at != before:
            schedule.record("changed", by)
        return schedule


@retry_on_conflict
def cancel(schedules: Verbs, schedule_id: str, *, by: Who = APPLICATION) -> Schedule:
    """Cancel a schedule, and with a beginning its end; the records stay.

    Raises `ScheduleEnded` if it is no longer waiting.
    """
    by = caller_of(by)
    with _changing(schedules, schedule_id, by) as schedule:
        end = schedule.end_of_pair
        for row in (schedule, end):
            if row is not None and row.state == ScheduleState.SCHEDULED:
                row.end(ScheduleState.CANCELLED)
                row.record("cancelled", by)
        return schedule


def repeat(schedules: Verbs, schedule_id: str, *, by: Who = APPLICATION) -> Schedule:
    """Repeat a cancelled schedule, with its end, for the same time; raises as `create` does.

    If an equal schedule is already waiting, nothing is created.
    """
    by = caller_of(by)
    cancelled = find(schedules, schedule_id, by=by)
    if cancelled.state != ScheduleState.CANCELLED:
        raise ScheduleEnded(cancelled)
    same = {name: getattr(cancelled, name) for name in _SAME}
    existing = Schedule.objects.waiting().filter(**same).first()
    if existing is not None:
        return existing
    if cancelled.local_time:
        times = Times(local_time=cancelled.local_time, time_zone=cancelled.time_zone)
    else:
        times = Times(run_at=f"{cancelled.run_at:%Y-%m-%dT%H:%M:%S.%fZ}")
    if cancelled.release_id is not None:
        release_id = str(cancelled.release_id)
        return create_for_release(schedules, release_id, times, force=cancelled.force, by=by)
    end = cancelled.end_of_pair
    pair: dict[str, str] = {}
    if end is not None:
        pair = {"until": end.local_time or f"{end.run_at:%Y-%m-%dT%H:%M:%SZ}", "then": end.version_id}
    return create(
        schedules,
        cancelled.kind,
        cancelled.resource_id,
        times,
        version_id=cancelled.version_id or None,
        action=cancelled.action,
        expects=cancelled.expected_version_id,
        force=cancelled.force,
        by=by,
        **pair,
    )


class Schedules(Verbs):
    """Scheduled versions and releases.

        noon = Times(local_time="2026-12-24T12:00", time_zone="Europe/Berlin")
        editor.schedules.create("agent", "writer", noon, version_id=version_id, by=user)

    `by` is the caller, with their rights; the default is the application.
    """

    create = create
    create_for_release = create_for_release
    find = find
    list = list_readable
    problems = judging.find_problems
    judge = judging.judge
    change = change
    cancel = cancel
    repeat = repeat


def _insert(subject: Subject, when: When, by: Caller, **columns: Any) -> Schedule:
    """Insert a schedule and record it."""
    schedule = Schedule(**subject.columns, expects=dict(subject.live), **columns)
    schedule.run_as(by)
    schedule.set_time(when)
    schedule.save(force_insert=True)
    schedule.record("created", by)
    return schedule


@contextmanager
def _changing(schedules: Verbs, schedule_id: str, by: Caller) -> Iterator[Schedule]:
    """Lock a waiting schedule and the other one of its pair for this transaction."""
    with events.transaction():
        pk = parse_uuid(schedule_id)
        pair = Schedule.objects.filter(Q(pk=pk) | Q(follows=pk) | Q(followed_by=pk)).with_lock()
        schedule = next((row for row in pair if row.pk == pk), None)
        if schedule is None:
            raise NotFound
        refuse_unreadable(schedules, schedule, by)
        by.require(Right.PUBLISH, schedule.workspace_id)
        events.acts(by)
        if schedule.state != ScheduleState.SCHEDULED:
            raise ScheduleEnded(schedule)
        yield schedule


def _list_scheduled(kind: ResourceKind, _value: str, viewer: Viewer) -> Collection[str]:
    """Return the resources of a kind that are scheduled, alone or in a release."""
    waiting = Schedules.current().list(by=viewer.caller).waiting().order_by()
    alone = waiting.filter(kind=kind.slug).values_list("resource_id", flat=True)
    releases = waiting.of_releases().values("release_id")
    items = ReleaseItem.objects.filter(kind=kind.slug, release__in=releases).order_by()
    return [*alone, *items.values_list("resource_id", flat=True)]


FILTER: Final = Filter(
    criterion=among(_list_scheduled),
    field="scheduled",
    choices=[("waiting", pgettext_lazy("a schedule", "Scheduled"))],
    is_quick=True,
)
