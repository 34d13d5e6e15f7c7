"""What is answered when something breaks: a page to people in the studio, JSON to everybody else."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studio import faults
from versioning.api import errors


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a bug."""
    is_studio = request.path.startswith(reverse("admin:index"))
    return faults.server_error(request) if is_studio else errors.server_error(request)
