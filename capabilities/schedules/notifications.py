"""Notify the authors of schedules when the problems of their schedules change, and when they failed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from capabilities.schedules.judging import problems_of
from capabilities.schedules.models import Schedule
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Caller, Via
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models import events
from versioning.verbs import Verbs

AT_ONCE: Final = 100
"""How many schedules are judged with the same statements."""
REST: Final = 10
"""The pause after a check, as a multiple of its duration."""
LONGEST_WAIT: Final = 600.0
"""Seconds after which all are judged even if the log has not moved: it does not record everything."""


def _of_own_schedules(caller: Caller) -> Q:
    """Return the condition that an event is about the person's schedule, except that it just ran."""
    types = ("schedule.changed", "schedule.cancelled", "schedule.failed")
    return Q(type__in=types, detail__createdBy=caller.username)


def _failures(caller: Caller) -> Q:
    """Return the condition that a schedule failed that ran as the person."""
    return Q(type="schedule.failed", via=Via.SCHEDULE)


NOTIFICATIONS: Final = (
    NotificationRule(condition=_of_own_schedules),
    NotificationRule(condition=_failures, unattended=True),
)

TOPIC: Final = NotificationTopic(
    name="scheduleFailed",
    title=_("my schedules, if they fail"),
    types=["schedule.failed"],
)


def remember(schedules: Verbs, made: Sequence[Schedule]) -> None:
    """Store the problems of new schedules: their author sees these, and is notified of changes."""
    found = problems_of(schedules, made)
    for one in made:
        one.problems = found.get(one.pk, ())
        one.known_problems = _codes(one)
    if any(one.known_problems for one in made):
        Schedule.objects.bulk_update(made, ["known_problems"])


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
    for some in _waiting():
        found = problems_of(schedules, some)
        for one in some:
            before, one.problems = one.known_problems, found.get(one.pk, ())
            if _codes(one) != before:
                _tell(one, before)


def _tell(schedule: Schedule, before: str) -> None:
    """Record the codes of a schedule's problems, unless another worker has done so."""
    with events.transaction():
        still = Schedule.objects.waiting().filter(pk=schedule.pk, known_problems=before)
        if still.update(known_problems=_codes(schedule)):
            by = replace(APPLICATION, via=Via.SCHEDULE)
            schedule.record("changed", by, problems=_codes(schedule).split())


def _waiting() -> Iterator[list[Schedule]]:
    last = None
    while True:
        rows = Schedule.objects.waiting().order_by("pk")
        some = list(rows.filter(pk__gt=last)[:AT_ONCE] if last is not None else rows[:AT_ONCE])
        if some:
            yield some
        if len(some) < AT_ONCE:
            return
        last = some[-1].pk


def _codes(schedule: Schedule) -> str:
    return " ".join(sorted({problem.code for problem in schedule.problems}))
