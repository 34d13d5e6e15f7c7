"""How many long-lived streams a process may have open, and how its server sends them.

`manage.py serve` runs a WSGI application, but sends the parts of an asynchronous response from an event loop;
it announces this in the environment of a request, with the maximum number of streams.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

OPEN_STREAMS: Final = "editor.open_streams"
"""The key in the environment of a WSGI request."""

IN_EVENT_LOOP: Final = 200
"""The default of `EDITOR_STREAMS` if an event loop sends them."""

IN_THREADS: Final = 4
"""The default if each of them takes one of the server's threads."""


class Capacity(NamedTuple):
    """The server's support for open streams."""

    streams: int
    """The maximum number in this process."""
    in_event_loop: bool
    """Whether their responses must be asynchronous."""


def in_event_loop() -> int:
    """Return the maximum number of streams for a process whose event loop sends them."""
    return IN_EVENT_LOOP if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)


def capacity(request: HttpRequest) -> Capacity:
    """Return the support for open streams of the request's server."""
    if OPEN_STREAMS in request.META:
        return Capacity(request.META[OPEN_STREAMS], in_event_loop=True)
    if isinstance(request, ASGIRequest):
        return Capacity(in_event_loop(), in_event_loop=True)
    in_threads = IN_THREADS if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)
    return Capacity(in_threads, in_event_loop=False)
