"""Responses after bugs and while the database is down: a page in the studio, JSON elsewhere."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studio import error_pages
from versioning.api import errors


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond after an exception; Django calls this while it handles the exception."""
    is_studio = request.path.startswith(reverse("studio:index"))
    error = sys.exception()
    if isinstance(error, OperationalError | InterfaceError):
        if not is_studio:
            return errors.database_unavailable(error, request.method)
        is_full = errors.is_storage_full(error, request.method)
        return error_pages.storage_full(request) if is_full else error_pages.database_unavailable(request)
    return error_pages.server_error(request) if is_studio else errors.server_error(request)
