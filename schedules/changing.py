"""Change the time of a schedule, or cancel it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.models import Q

from schedules.finding import refuse_unreadable
from schedules.making import Times
from schedules.models import Schedule, State
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.uuids import uuid_of
from versioning.editor.locking import retried
from versioning.editor.parts import EditorPart
from versioning.editor.resources import Who, caller_of
from versioning.models import events


class ScheduleEnded(Conflict):
    """A schedule is not waiting any more: it has run, or it was cancelled."""

    code = "schedule_ended"

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(
            Message("This schedule is {state} and is not changed any more.", state=schedule.state)
        )


@retried
def change(schedules: EditorPart, schedule_id: str, times: Times, *, by: Who = APPLICATION) -> Schedule:
    """Give a schedule another time; raises `ScheduleEnded` if it is not waiting any more.

    The two of a pair stay in their order: raises `Invalid` otherwise.
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


@retried
def cancel(schedules: EditorPart, schedule_id: str, *, by: Who = APPLICATION) -> Schedule:
    """Cancel a schedule, and with a beginning its end; the records stay.

    Raises `ScheduleEnded` if it is not waiting any more.
    """
    by = caller_of(by)
    with _changing(schedules, schedule_id, by) as schedule:
        end = schedule.end_of_pair
        for one in (schedule, end):
            if one is not None and one.state == State.SCHEDULED:
                one.end(State.CANCELLED)
                one.record("cancelled", by)
        return schedule


@contextmanager
def _changing(schedules: EditorPart, schedule_id: str, by: Caller) -> Iterator[Schedule]:
    """Lock a schedule that is waiting, and the other one of its pair, for this transaction."""
    with events.transaction():
        pk = uuid_of(schedule_id)
        pair = Schedule.objects.filter(Q(pk=pk) | Q(follows=pk) | Q(followed_by=pk)).locked()
        schedule = next((one for one in pair if one.pk == pk), None)
        if schedule is None:
            raise NotFound
        refuse_unreadable(schedules, schedule, by)
        by.require(Right.PUBLISH, schedule.workspace_id)
        events.acts(by)
        if schedule.state != State.SCHEDULED:
            raise ScheduleEnded(schedule)
        yield schedule
