"""The base class of the API's middleware."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

GetResponse = Callable[[HttpRequest], HttpResponse]


class Middleware:
    """Stores the next middleware or the view; a subclass implements `__call__`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
