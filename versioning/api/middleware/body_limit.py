"""Answers for request bodies that were refused: too large, too slow, incomplete."""

from __future__ import annotations

import io

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse

from versioning.api import errors
from versioning.api.middleware.base import Middleware
from versioning.api.request_bodies import ANONYMOUS_LIMIT, Refusal, declared_length, refusal_of
from versioning.domain.errors import Invalid

_CHUNK = 1 << 16


class BodyLimitMiddleware(Middleware):
    """Answers for refused bodies, and sets the length of chunked ones.

    `manage.py serve` and the ASGI application receive a body before Django does (`request_bodies`). Other
    WSGI servers pass on a body while it is still arriving: there this middleware enforces the size, and
    time limits are up to the server.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, or refuse its body."""
        refusal = refusal_of(request)
        if refusal is None and request.META.get("CONTENT_LENGTH", "") == "" and _is_chunked(request):
            refusal = _buffer_chunks(request)
        elif refusal is None and (declared_length(request) or 0) > settings.EDITOR_MAX_BODY:
            refusal = Refusal.TOO_LARGE
        return self.get_response(request) if refusal is None else _refused(request, refusal)


def _refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    match refusal:
        case Refusal.TOO_LARGE:
            return errors.too_large(settings.EDITOR_MAX_BODY)
        case Refusal.TOO_LARGE_FOR_ANONYMOUS:
            path = request.path_info
            is_page = path.startswith(settings.LOGIN_REDIRECT_URL) and path != settings.LOGIN_URL
            return (
                redirect_to_login(request.get_full_path()) if is_page else errors.too_large(ANONYMOUS_LIMIT)
            )
        case Refusal.NO_MEMORY:
            response = errors.error_response(
                503, "too_busy", "Too many bodies are being received. Send it again soon."
            )
            response["Retry-After"] = "1"
            return response
        case Refusal.TOO_SLOW:
            response = errors.error_response(408, "request_timeout", "The body took too long to arrive.")
            response["Connection"] = "close"
            return response
        case Refusal.BROKEN:
            broken = Invalid.field("body", "broke off, or came in chunks that are none")
            return JsonResponse(errors.error_body(broken), status=400)


def _is_chunked(request: HttpRequest) -> bool:
    return "chunked" in request.headers.get("Transfer-Encoding", "").lower()


def _buffer_chunks(request: HttpRequest) -> Refusal | None:
    """Read a body without a declared length, or return why it is refused.

    Django takes a missing length for an empty body, and would silently lose the data.
    """
    source = request.environ["wsgi.input"] if isinstance(request, WSGIRequest) else request
    body = b""
    while chunk := source.read(_CHUNK):
        body += chunk
        if len(body) > settings.EDITOR_MAX_BODY:
            return Refusal.TOO_LARGE
    request._stream = io.BytesIO(body)  # noqa: SLF001  there is no public way in
    request.META["CONTENT_LENGTH"] = str(len(body))
    # A server passes on nothing if the chunks are malformed.
    return None if body else Refusal.BROKEN
