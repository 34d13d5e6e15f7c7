"""Whether the server sends the parts of an asynchronous response from an event loop.

`manage.py serve` does, although it runs a WSGI application, and says so in the environment of a request.
"""

from __future__ import annotations

from typing import Final

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

EVENT_LOOP: Final = "editor.event_loop"
"""The key in the environment of a WSGI request."""


def has_event_loop(request: HttpRequest) -> bool:
    """Say whether the response to this request may be asynchronous, so that it takes no thread."""
    return isinstance(request, ASGIRequest) or EVENT_LOOP in request.META
