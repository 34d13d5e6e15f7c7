"""What workers do for schedules."""

from __future__ import annotations

from typing import Final

from schedules import running
from schedules.models import Schedule
from schedules.times import instant
from versioning.worker import jobs

SECONDS: Final = 1.0
"""How often each worker looks whether something is due."""
HOUR: Final = 3600.0


def register() -> None:
    """Register the jobs."""
    runner = running.Runner()
    for name, run in (("schedules", runner.run_versions), ("scheduled releases", runner.run_releases)):
        jobs.register(jobs.Periodic(name=name, run=run, every=SECONDS, in_each_worker=True))
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
