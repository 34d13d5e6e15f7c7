"""The Content-Security-Policy of the studio."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, get_urlconf, reverse

POLICY = "; ".join(
    f"{directive} {sources}"
    for directive, sources in {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "font-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }.items()
)


PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)
"""What no page of this server needs, nor a page that it would show in a frame."""


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that lets the pages of the studio load and run only files of this server."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if is_studio(request):
            response["Content-Security-Policy"] = POLICY
            response["Referrer-Policy"] = "same-origin"
        response["Permissions-Policy"] = PERMISSIONS
        return response

    return middleware


def is_studio(request: HttpRequest) -> bool:
    """Return whether a request is for the studio."""
    return request.path.startswith(_home(get_script_prefix(), get_urlconf()))


@lru_cache(maxsize=16)
def _home(_script_prefix: str, _urlconf: str | None) -> str:
    """Return the address of the studio for these two values; called for every answer."""
    return reverse("studio:index")
