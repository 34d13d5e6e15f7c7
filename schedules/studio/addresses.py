"""Where the pages about schedules are."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from urllib.parse import urlencode

from django.urls import URLPattern, path

from schedules.models import Schedule
from studio.kinds import KINDS_BY_WORD, StudioKind
from studio.workspaces.base import address
from versioning.models import Event


def resource_urls(kind: StudioKind) -> Iterable[URLPattern]:
    """Return the address of the form below that of a resource."""
    # Not at the top: the view needs what is registered with this address.
    view = import_module("schedules.studio.asking").SchedulePage
    return [path("<str:resource>/schedule/", view.as_view(kind=kind), name=kind.url_name("schedule"))]


def of_form(kind: StudioKind, resource_id: str, version_id: str) -> str:
    """Return the address of the form that schedules a version."""
    return f"{kind.address('schedule', resource_id)}?{urlencode({'version': version_id})}"


def of_release_form(workspace_id: str, release_id: str) -> str:
    """Return the address of the form that schedules a release."""
    return address("schedule_release", workspace_id, release_id)


def of_release(workspace_id: str, release_id: str) -> str:
    """Return the address of the page of a release."""
    return address("release", workspace_id, release_id)


def of_version(schedule: Schedule) -> str:
    """Return the address of the version that a schedule is about."""
    return KINDS_BY_WORD[schedule.kind].address("version", schedule.resource_id, schedule.version_id)


def of_calendar(workspace_id: str) -> str:
    """Return the address of the calendar of a workspace."""
    return address("calendar", workspace_id)


def of_changing(schedule: Schedule) -> str:
    """Return the address of the form that changes the time of a schedule."""
    return address("schedule", schedule.workspace_id, str(schedule.pk))


def of_cancelling(schedule: Schedule) -> str:
    """Return where the button that cancels a schedule is sent."""
    return address("schedule_cancel", schedule.workspace_id, str(schedule.pk))


def of_event(kind: StudioKind, event: Event) -> str:
    """Return the address of the calendar for an event about a schedule; empty for any other."""
    return of_calendar(event.workspace_id) if event.type.startswith("schedule.") else ""
