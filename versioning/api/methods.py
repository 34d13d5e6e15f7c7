"""Which methods an address knows: any other one is a 405, whoever asks and before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import resolve

from versioning.api import errors
from versioning.api.middleware import Handler

READING = ("GET", "HEAD")
_PAGES = ("GET", "HEAD", "POST")


def refuse_trace(get_response: Handler) -> Handler:
    """Answer 405 to TRACE at every address: nothing here sends a request, and its credentials, back."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.method != "TRACE":
            return get_response(request)
        return errors.method_not_allowed(request, known_methods(request.path_info))

    return middleware


def reads_only(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let a plain view be read, and answer 405 to everything else."""

    @wraps(view)
    def reading(request: HttpRequest) -> HttpResponse:
        if request.method not in READING:
            return errors.method_not_allowed(request, READING)
        return view(request)

    reading.known_methods = READING  # type: ignore[attr-defined]
    return reading


def known_methods(path: str) -> Iterable[str]:
    """Return the methods of an address; none of one that does not exist."""
    try:
        view = resolve(path).func
    except Http404:
        return ()
    if hasattr(view, "actions"):  # a viewset's, by method
        return sorted(
            method.upper() for method in {*view.actions, *(["head"] if "get" in view.actions else [])}
        )
    found: Iterable[str] = getattr(view, "known_methods", _PAGES)
    return found
