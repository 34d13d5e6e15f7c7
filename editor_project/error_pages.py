"""Responses after bugs and while the database is down: a page in the studio, JSON elsewhere."""

from __future__ import annotations

import sys

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import error_pages
from versioning.api import errors


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Respond to an unknown address: to a person's browser with a page, otherwise with JSON."""
    is_browser = "text/html" in request.headers.get("Accept", "") and not error_pages.wants_json(request)
    if not is_browser or request.path.startswith(f"/{settings.EDITOR_API_PREFIX}/"):
        return errors.not_found(request, exception)
    return error_pages.error_page(request, 404, _("Page not found"), _("No page has this address."))


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
