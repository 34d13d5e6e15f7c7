"""The addresses of the API in its own answers."""

from __future__ import annotations

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.urls import get_script_prefix


def root() -> str:
    """Return where the API is on this host: the path below which the project is served, and the prefix."""
    return f"{get_script_prefix()}{settings.EDITOR_API_PREFIX}"


def location(path: str) -> str:
    """Return the address of a path below the root of the API, such as `webhooks/1`, for `Location`."""
    return f"{root()}/{path}"


def has_encoded_end(request: HttpRequest, word: str) -> bool:
    """Return whether a path ends with the word after an encoded slash, so that it is the end of an id.

    False where the server does not pass on the path as it was sent: WSGI servers do it in either of two
    variables, ASGI servers in the scope.
    """
    if isinstance(request, ASGIRequest):
        sent = (request.scope.get("raw_path") or b"").decode("latin-1")
    else:
        sent = str(request.META.get("REQUEST_URI") or request.META.get("RAW_URI") or "")
    return sent.partition("?")[0].lower().endswith(f"%2f{word}")
