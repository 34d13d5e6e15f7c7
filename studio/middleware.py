"""The additions to every page of the studio: a language, names for marks, a Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, get_urlconf, reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language

from studio.marks import with_names
from studio.preferences import language_of, zone_of_pages

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
"""The browser features that no page of this server, and no framed page, needs."""


def studio_pages(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware for pages of the studio only: the person's language and time zone, names, and the policy.

    The policy lets the pages load and run only files of this server.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(_home(get_script_prefix(), get_urlconf())):
            answer = get_response(request)
            answer["Permissions-Policy"] = PERMISSIONS
            return answer
        with translation.override(language_of(request)), timezone.override(zone_of_pages(request)):
            response = with_names(get_response, request)
            response.headers.setdefault("Content-Language", get_language() or settings.LANGUAGE_CODE)
        patch_vary_headers(response, ("Accept-Language",))
        response["Content-Security-Policy"] = POLICY
        response["Referrer-Policy"] = "same-origin"
        response["Permissions-Policy"] = PERMISSIONS
        return response

    return middleware


@lru_cache(maxsize=16)
def _home(_script_prefix: str, _urlconf: str | None) -> str:
    """Return the address of the studio for these two values; called for every request."""
    return reverse("studio:index")
