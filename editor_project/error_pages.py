"""What is answered when something breaks: a page to people in the studio, JSON to everybody else."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studio import error_pages
from versioning.api import errors


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a bug, or a database that is away; Django calls this while it handles the exception."""
    is_studio = request.path.startswith(reverse("admin:index"))
    fault = sys.exception()
    if isinstance(fault, OperationalError | InterfaceError):
        return error_pages.database_unavailable(request) if is_studio else errors.database_unavailable(fault)
    return error_pages.server_error(request) if is_studio else errors.server_error(request)
