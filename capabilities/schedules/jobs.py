"""The jobs of workers for schedules."""

from __future__ import annotations

from typing import Final

from capabilities.schedules import notifications, running
from capabilities.schedules.models import Schedule
from capabilities.schedules.times import instant
from versioning.worker.jobs import Periodic

SECONDS: Final = 1.0
"""How often each worker checks for due schedules."""
LOOK: Final = 5.0
"""How often each worker checks whether to notify the authors of schedules."""
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


_runner: Final = running.Runner()
_watch: Final = notifications.Watch()
JOBS: Final = (
    Periodic(name="schedules", run=_runner.run_versions, every=SECONDS, in_each_worker=True),
    Periodic(name="scheduled releases", run=_runner.run_releases, every=SECONDS, in_each_worker=True),
    Periodic(name="news of schedules", run=_watch.look_if_moved, every=LOOK, in_each_worker=True),
    Periodic(name="time zones of schedules", run=follow_time_zones, every=HOUR),
)
