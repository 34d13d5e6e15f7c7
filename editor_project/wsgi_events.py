"""The WSGI application that `manage.py serve_events` runs: like that of `serve`, but with few URLs."""

from __future__ import annotations

import os

import django
from django.core.handlers.wsgi import WSGIHandler
from django.http import Http404, HttpRequest
from django.urls import ResolverMatch

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402  settings come first

from capabilities.delivery.api import EventStreamViewSet  # noqa: E402
from editor_project.database.postgresql.base import limit_statements  # noqa: E402
from versioning.api import health  # noqa: E402
from versioning.api.middleware import ExactWSGIRequest  # noqa: E402


class StreamHandler(WSGIHandler):
    """Serves the stream of events and the health checks; answers 404 for everything else."""

    request_class = ExactWSGIRequest

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Return the view for a request; raises `Http404` for URLs that other processes serve."""
        match = super().resolve_request(request)
        if match.func in {health.alive, health.ready}:
            return match
        if getattr(match.func, "cls", None) is EventStreamViewSet:
            return match
        raise Http404


limit_statements(settings.EDITOR_STATEMENT_TIMEOUT)
application = StreamHandler()
