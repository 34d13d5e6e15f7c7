"""Accept only UTF-8 in paths and forms."""

from __future__ import annotations

from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from editor_client.shared.canonical import is_utf8

from versioning.api import errors
from versioning.api.middleware.base import Middleware


class ExactWSGIRequest(WSGIRequest):
    """A request that remembers whether its path was UTF-8.

    Django replaces a byte that is not UTF-8 by its percent-encoded form, so `%FF` would name the same
    resource as `%25FF`, and a middleware could no longer see the difference.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        self.path_is_exact = is_utf8(environ.get("PATH_INFO", "").encode("latin-1"))
        super().__init__(environ)


class Utf8PathMiddleware(Middleware):
    """Answers 404 for a path that is not UTF-8."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request if its path is UTF-8."""
        if getattr(request, "path_is_exact", True):
            return self.get_response(request)
        return errors.not_found(request)


class Utf8FormMiddleware(Middleware):
    """Reads every form as UTF-8, the encoding of the pages that send it.

    Django uses the `charset` of the request, even if it is not a text encoding, which would turn every form
    into a server error, including the sign-in form.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, whatever charset it claims."""
        if request.encoding is not None:
            request.encoding = "utf-8"
        return self.get_response(request)
