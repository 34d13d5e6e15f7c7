"""Who may keep an answer: `Cache-Control`."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from versioning.api.middleware.base import GetResponse, Middleware

_HEALTH: Final = frozenset({"/healthz", "/readyz"})


class CacheControlMiddleware(Middleware):
    """Sets `Cache-Control` on every answer of the API and of the health checks, unless a view has set it.

    An answer depends on the caller, so no proxy may keep it. If it has an entity tag, the client may
    keep it and has to revalidate it. The description of the API is the same for everybody: public.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.api = f"/{settings.EDITOR_API_PREFIX}/"
        self.public = frozenset({f"{self.api}schema", f"{self.api}docs"})

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request and add the header."""
        response = self.get_response(request)
        path = request.path_info
        if path.startswith(self.api) or path in _HEALTH:
            is_public = path in self.public and response.status_code == HTTPStatus.OK
            private = "private, no-cache" if response.has_header("ETag") else "private, no-store"
            response.headers.setdefault("Cache-Control", "public, max-age=300" if is_public else private)
        return response
