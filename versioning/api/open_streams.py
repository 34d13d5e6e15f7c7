"""How many streams a process may have open that last until the reader leaves, and how its server sends them.

`manage.py serve` runs a WSGI application, but sends the parts of an asynchronous response from an event
loop; it says so in the environment of a request, with the number of streams that it takes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

OPEN_STREAMS: Final = "editor.open_streams"
"""The key in the environment of a WSGI request."""

IN_EVENT_LOOP: Final = 200
"""The default of `EDITOR_STREAMS` where an event loop sends them."""

IN_THREADS: Final = 4
"""The default where each of them takes one of the server's threads."""


class Capacity(NamedTuple):
    """What the server of a request does about open streams."""

    streams: int
    """How many it may have in this process."""
    in_event_loop: bool
    """Whether their responses are to be asynchronous."""


def in_event_loop() -> int:
    """Return how many streams a process may have open whose event loop sends them."""
    return IN_EVENT_LOOP if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)


def capacity(request: HttpRequest) -> Capacity:
    """Return what the server of a request does about open streams."""
    if OPEN_STREAMS in request.META:
        return Capacity(request.META[OPEN_STREAMS], in_event_loop=True)
    if isinstance(request, ASGIRequest):
        return Capacity(in_event_loop(), in_event_loop=True)
    in_threads = IN_THREADS if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)
    return Capacity(in_threads, in_event_loop=False)
