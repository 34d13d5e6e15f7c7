"""What every middleware of the API begins with."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

GetResponse = Callable[[HttpRequest], HttpResponse]


class Middleware:
    """Holds the next middleware, or the view; a subclass has the `__call__`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
