"""The URL of the calendar of all workspaces."""

from __future__ import annotations

from django.urls import path

from capabilities.schedules.studio.calendar import CalendarPage

urlpatterns = [path("calendar/", CalendarPage.as_view(), name="calendar")]
