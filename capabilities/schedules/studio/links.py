"""The addresses of the pages about schedules."""

from __future__ import annotations

from urllib.parse import urlencode

from capabilities.schedules.deletions import GONE
from capabilities.schedules.models import Action, Schedule, State
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.workspaces.views import address
from versioning.models import Event


def of_form(kind: StudioKind, resource_id: str, version_id: str, **filled_in: str) -> str:
    """Return the address of the form to schedule a version; some fields may be filled in."""
    return f"{kind.address('schedule', resource_id)}?{urlencode({'version': version_id, **filled_in})}"


def of_release_form(workspace_id: str, release_id: str, **filled_in: str) -> str:
    """Return the address of the form to schedule a release; some fields may be filled in."""
    query = f"?{urlencode(filled_in)}" if filled_in else ""
    return address("schedule_release", workspace_id, release_id) + query


def of_again(schedule: Schedule) -> str:
    """Return the address of the form to repeat a failed schedule; empty if there is none."""
    filled_in = {"time_zone": schedule.time_zone} if schedule.time_zone else {}
    if schedule.force:
        filled_in["force"] = "on"
    if schedule.state not in {State.FAILED, State.MISSED} or schedule.code == GONE:
        return ""
    if schedule.release_id is not None:
        return of_release_form(schedule.workspace_id, str(schedule.release_id), **filled_in)
    if schedule.action == Action.UNPUBLISH:
        return ""  # the studio has no form for this
    return of_form(KINDS_BY_SLUG[schedule.kind], schedule.resource_id, schedule.version_id, **filled_in)


def of_publishing(schedule: Schedule) -> str:
    """Return the address of the page that publishes a schedule's version, and shows what is missing."""
    kind = KINDS_BY_SLUG[schedule.kind]
    return f"{kind.address('publish', schedule.resource_id)}?{urlencode({'version': schedule.version_id})}"


def of_release(workspace_id: str, release_id: str) -> str:
    """Return the address of the page of a release."""
    return address("release", workspace_id, release_id)


def of_version(schedule: Schedule) -> str:
    """Return the address of the version of a schedule."""
    return KINDS_BY_SLUG[schedule.kind].address("version", schedule.resource_id, schedule.version_id)


def of_calendar(workspace_id: str) -> str:
    """Return the address of the calendar of a workspace."""
    return address("calendar", workspace_id)


def of_changing(schedule: Schedule) -> str:
    """Return the address of the form to change the time of a schedule."""
    return address("schedule", schedule.workspace_id, str(schedule.pk))


def of_cancelling(schedule: Schedule) -> str:
    """Return the address that the cancel button sends to."""
    return address("schedule_cancel", schedule.workspace_id, str(schedule.pk))


def of_event(kind: StudioKind, event: Event) -> str:
    """Return the address of the calendar for an event about a schedule; empty for any other."""
    return of_calendar(event.workspace_id) if event.type.startswith("schedule.") else ""
