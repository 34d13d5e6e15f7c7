"""The URLs of the pages about schedules, below those of a workspace and of a resource."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path

from capabilities.schedules.studio.calendar import CalendarPage
from capabilities.schedules.studio.detail import CancelPage, ChangePage
from capabilities.schedules.studio.scheduling import ReleaseSchedulePage, SchedulePage
from studio.kinds import StudioKind

urlpatterns = [
    path("calendar/", CalendarPage.as_view(), name="versioning_workspace_calendar"),
    path("schedules/<str:schedule>/", ChangePage.as_view(), name="versioning_workspace_schedule"),
    path(
        "schedules/<str:schedule>/cancel/", CancelPage.as_view(), name="versioning_workspace_schedule_cancel"
    ),
    path(
        "releases/<str:release>/schedule/",
        ReleaseSchedulePage.as_view(),
        name="versioning_workspace_schedule_release",
    ),
]


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the address of the form below that of a resource."""
    yield path("<str:resource>/schedule/", SchedulePage.as_view(kind=kind), name=kind.url_name("schedule"))
