"""The routes that this application adds to the API."""

from __future__ import annotations

from django.urls import URLPattern, re_path

from delivery.streams.api import EventStreamViewSet

urlpatterns: list[URLPattern] = [
    re_path(r"^events/stream\Z", EventStreamViewSet.as_view({"get": "stream"}), name="event-stream"),
]
