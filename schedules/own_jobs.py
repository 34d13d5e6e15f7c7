"""What workers do for schedules."""

from __future__ import annotations

from typing import Final

from schedules import news, running
from schedules.models import Schedule
from schedules.times import instant
from versioning.worker import jobs

SECONDS: Final = 1.0
"""How often each worker looks whether something is due."""
LOOK: Final = 5.0
"""How often each worker looks whether the authors of schedules have to be told something."""
HOUR: Final = 3600.0

_watch: Final = news.Watch()


def register() -> None:
    """Register the jobs."""
    runner = running.Runner()
    for name, run, every in (
        ("schedules", runner.run_versions, SECONDS),
        ("scheduled releases", runner.run_releases, SECONDS),
        ("news of schedules", _watch.look_if_moved, LOOK),
    ):
        jobs.register(jobs.Periodic(name=name, run=run, every=every, in_each_worker=True))
    jobs.register(jobs.Periodic(name="time zones of schedules", run=follow_time_zones, every=HOUR))


def follow_time_zones() -> None:
    """Move schedules for a local time to when that is by the rules of their time zones that are known now.

    Nine o'clock in Berlin stays nine o'clock, also when a law changes the clocks after it was scheduled. A
    local time that does not exist any more keeps its time in UTC.
    """
    for schedule in Schedule.objects.waiting().exclude(time_zone=""):
        now = instant(schedule.local_time, schedule.time_zone)
        if now is not None and now != schedule.run_at:
            still = Schedule.objects.waiting().filter(pk=schedule.pk, run_at=schedule.run_at)
            still.update(run_at=now, due_at=now)
