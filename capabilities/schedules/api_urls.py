"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.schedules.api import ScheduleViewSet

_ROUTES: Final[dict[str, dict[str, Any]]] = {
    "schedules": {"get": "list", "post": "create"},
    "schedules/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", ScheduleViewSet.as_view(verbs)) for route, verbs in _ROUTES.items()
]
