"""The pages that stand where something could not be shown or done."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse


def framed(
    request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
) -> TemplateResponse:
    """Return a page in the frame of the studio."""
    frame = admin.site.each_context(request)
    return TemplateResponse(request, template, {**frame, "title": title, **context}, status=status)


def fault_page(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    """Return the page that says in a sentence why something could not be shown or done."""
    return framed(request, "studio/fault.html", title=title, status=status, message=message).render()


def expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose token does not hold: somebody signed in or out since it was opened."""
    return fault_page(
        request,
        403,
        "This page is too old",
        "Somebody has signed in or out in this browser since it was opened, so nothing was done. "
        "Go back: what you typed is still there. Copy it, load the page again, and send it from there.",
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a bug, without asking the database for anything."""
    return render(request, "studio/server_error.html", status=500)


def database_unavailable(request: HttpRequest) -> HttpResponse:
    """Answer while the database is away."""
    response = render(request, "studio/database_unavailable.html", status=503)
    response["Retry-After"] = "1"
    return response
