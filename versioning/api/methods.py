"""The methods that an address allows. Any other gives a 405, before anything else is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import resolve

from versioning.api import errors

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
    found: Iterable[str] = getattr(view, "allowed_methods", _OF_A_PAGE)
    return found
