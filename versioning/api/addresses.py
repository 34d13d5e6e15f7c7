"""Addresses of the API for links in its answers, and the methods each one allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import get_script_prefix, resolve

from versioning.api import errors


def root() -> str:
    """Return the root path of the API: the path under which the project is served, plus the prefix."""
    return f"{get_script_prefix()}{settings.EDITOR_API_PREFIX}"


def location(path: str) -> str:
    """Return the `Location` value for a path below the API's root, such as `webhooks/1`."""
    return f"{root()}/{path}"


def has_encoded_end(request: HttpRequest, word: str) -> bool:
    """Return whether the path ends with an encoded slash and the word, which is then part of an id.

    False if the server does not pass on the raw path. WSGI servers pass it in one of two variables, ASGI
    servers in the scope.
    """
    if isinstance(request, ASGIRequest):
        raw_path = (request.scope.get("raw_path") or b"").decode("latin-1")
    else:
        raw_path = str(request.META.get("REQUEST_URI") or request.META.get("RAW_URI") or "")
    return raw_path.partition("?")[0].lower().endswith(f"%2f{word}")


SAFE = ("GET", "HEAD")
_OF_A_PAGE = ("GET", "HEAD", "POST")


def require_safe(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Allow GET and HEAD only, like Django's decorator of this name, but with the API's own 405."""

    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        if request.method not in SAFE:
            return errors.method_not_allowed(request, SAFE)
        return view(request)

    wrapper.allowed_methods = SAFE  # type: ignore[attr-defined]
    return wrapper


def allowed_methods(path: str) -> Iterable[str]:
    """Return the methods of an address; none if it does not exist."""
    try:
        view = resolve(path).func
    except Http404:
        return ()
    if hasattr(view, "actions"):  # of a viewset, by method
        return sorted(
            method.upper() for method in {*view.actions, *(["head"] if "get" in view.actions else [])}
        )
    methods: Iterable[str] = getattr(view, "allowed_methods", _OF_A_PAGE)
    return methods
