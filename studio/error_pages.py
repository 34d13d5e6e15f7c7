"""Error pages, and the frame that they share with every other page."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from studio import site, unsaved
from studio.marks import as_text
from studio.translation import translate

_FOREIGN: Final = ("Origin checking failed", "Referer checking failed")
"""The prefixes of Django's reasons for a form sent from elsewhere."""


def render_in_frame(
    request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
) -> TemplateResponse:
    frame = {**site.each_context(request), "page_address": "", "copy": ""}
    if request.method == "POST":
        # The page to return to: the target of the form, or its origin if the target accepts only forms.
        view = getattr(request.resolver_match.func, "view_class", None) if request.resolver_match else None
        is_page = hasattr(view, "get") and "get" in getattr(view, "http_method_names", ())
        frame["page_address"] = request.get_full_path() if is_page else came_from(request)
        frame["copy"] = unsaved.posted_copy(request)
    return TemplateResponse(request, template, {**frame, "title": title, **context}, status=status)


def wants_json(request: HttpRequest) -> bool:
    """Return whether a script requests JSON, as opposed to a browser requesting a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def error_page(request: HttpRequest, status: int, title: str, message: str, **context: str) -> HttpResponse:
    """Return a page that describes the error in one sentence; to a script, `{"problems": […]}`."""
    if wants_json(request):
        sentences = [f"{title}.", translate(message)] if message else [f"{title}."]
        return JsonResponse({"problems": [as_text(" ".join(sentences), request)]}, status=status)
    return render_in_frame(
        request, "studio/error.html", title=title, status=status, message=translate(message), **context
    ).render()


def expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose CSRF token or origin is refused, by Django's `reason`."""
    if not request.COOKIES:
        title, message = (
            _("This browser keeps no cookies"),
            _(
                "The studio needs cookies, so nothing was done. Allow them for this address, then load "
                "the page again."
            ),
        )
        return error_page(request, 403, title, message, back_address=came_from(request))
    if reason.startswith(_FOREIGN):
        title, message = (
            _("This form came from elsewhere"),
            _(
                "Nothing was done, because the form was not sent from a page of this service. Open the "
                "page again, "
                "at the address that you see now."
            ),
        )
        return error_page(request, 403, title, message)
    message = _(
        "Someone has signed in or out in this browser since the page was opened, so nothing was done. "
        "What you typed on a page for editing is kept in this browser: open the page again, as yourself, "
        "and it is offered to you."
    )
    return error_page(request, 403, _("This page is out of date"), message, back_address=came_from(request))


def came_from(request: HttpRequest) -> str:
    """Return the address of the studio page that sent a form; empty if it is unknown."""
    address = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    )
    if not is_ours:  # it may not be a valid address
        return ""
    path = urlsplit(address)._replace(scheme="", netloc="", fragment="").geturl()
    return path if is_of_studio(path) else ""


def own_address(address: str, otherwise: str) -> str:
    """Return an address if it is that of a studio page, or else the other one."""
    is_ours = url_has_allowed_host_and_scheme(address, None) and is_of_studio(address)
    return address if is_ours else otherwise


def is_of_studio(address: str) -> bool:
    """Return whether a path on this host, as browsers resolve it, is below `/studio/`."""
    path = unquote(re.split("[?#]", address, maxsplit=1)[0]).replace("\\", "/")
    return path.startswith(reverse("studio:index")) and ".." not in path.split("/")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a bug; the page needs no query."""
    return render(request, "studio/server_error.html", status=500)


def database_unavailable(request: HttpRequest) -> HttpResponse:
    response = render(request, "studio/database_unavailable.html", status=503)
    response["Retry-After"] = "1"
    return response


def storage_full(request: HttpRequest) -> HttpResponse:
    """Answer a form that could not be saved because the disk is full."""
    message = _(
        "Go back in your browser: what you typed is still there. Tell an administrator, and try again once "
        "there is free space."
    )
    title = _("Nothing was saved, because the disk of the server is full")
    response = error_page(request, 503, title, message)
    response["Retry-After"] = "10"
    return response
