"""What becomes of schedules when what they are about is deleted."""

from __future__ import annotations

from collections.abc import Mapping

from schedules.models import Schedule, State
from versioning.domain.access import Caller
from versioning.domain.events import Target, VersionName
from versioning.domain.kinds import KINDS
from versioning.editor import needed_versions
from versioning.models import events

GONE = "gone"


def watch() -> None:
    """End the schedules of every resource that is deleted; keep the versions that are scheduled."""
    needed_versions.register(_scheduled_versions)
    for kind in KINDS:
        events.watch(f"{kind.word}.deleted", _end_with_resource)


def _end_with_resource(by: Caller, resource: Target, version: VersionName | None) -> None:
    for schedule in Schedule.objects.waiting().about(resource):
        schedule.end(State.FAILED, code=GONE, problem="The resource was deleted.")
        schedule.record("failed", by, code=GONE)


def _scheduled_versions(resource: Target) -> Mapping[str, str]:
    waiting = Schedule.objects.waiting().about(resource).exclude(version_id="")
    return {
        schedule.version_id: f"is scheduled for {schedule.run_at:%Y-%m-%d %H:%M} UTC: cancel that first"
        for schedule in waiting
    }
