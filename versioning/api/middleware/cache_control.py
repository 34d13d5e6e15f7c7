"""`Cache-Control`: who may store an answer."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from versioning.api.middleware.base import GetResponse, Middleware

_HEALTH: Final = frozenset({"/healthz", "/readyz"})


def set_private(response: HttpResponseBase) -> None:
    """Set `Cache-Control` on an answer that depends on its caller, unless it has the header.

    No proxy may store it. The client may if it has an entity tag, and must revalidate it.
    """
    policy = "private, no-cache" if response.has_header("ETag") else "private, no-store"
    response.headers.setdefault("Cache-Control", policy)


class CacheControlMiddleware(Middleware):
    """Sets `Cache-Control` where no view has: on refused requests and on the health checks."""

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.api = f"/{settings.EDITOR_API_PREFIX}/"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request and add the header."""
        response = self.get_response(request)
        path = request.path_info
        if path.startswith(self.api) or path in _HEALTH:
            set_private(response)
        return response
