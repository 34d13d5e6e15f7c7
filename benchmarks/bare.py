"""The server's own limit: the same settings with only a bare Django view, without any middleware."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from editor_project.settings import *  # noqa: F403

MIDDLEWARE: list[str] = []
SILENCED_SYSTEM_CHECKS = [
    "admin.E408",
    "admin.E409",
    "admin.E410",
]  # the admin misses its middleware
ROOT_URLCONF = "benchmarks.bare"


def bare(_request: HttpRequest) -> HttpResponse:
    """Answer without doing anything."""
    return HttpResponse(b'{"status":"ok"}', content_type="application/json")


urlpatterns = [path("readyz", bare), path("bare", bare)]
