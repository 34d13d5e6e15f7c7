"""The addresses of the pages about schedules, below that of a workspace."""

from __future__ import annotations

from django.urls import path

from schedules.studio.asking import ReleaseSchedulePage
from schedules.studio.calendar import CalendarPage
from schedules.studio.one import CancelPage, ChangePage

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
