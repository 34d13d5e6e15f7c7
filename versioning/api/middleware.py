"""The API's middleware except for request logging: requests refused or completed before the view."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from editor_client.shared.canonical import is_utf8

from versioning.api import errors
from versioning.api.addresses import allowed_methods
from versioning.api.limits import ANONYMOUS_LIMIT, REFUSAL, Refusal, RunsFull
from versioning.domain.errors import Invalid

_HEALTH: Final = frozenset({"/healthz", "/readyz"})
_CHUNK: Final = 1 << 16

GetResponse = Callable[[HttpRequest], HttpResponse]


class Middleware:
    """Stores the next middleware or the view; a subclass implements `__call__`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class NoTraceMiddleware(Middleware):
    """Refuses TRACE, so that no request is sent back with the credentials in it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request unless its method is TRACE."""
        if request.method != "TRACE":
            return self.get_response(request)
        return errors.method_not_allowed(request, allowed_methods(request.path_info))


class ExactWSGIRequest(WSGIRequest):
    """A request that records whether its path was UTF-8.

    Django replaces a byte that is not UTF-8 by its percent-encoded form, so `%FF` would name the same
    resource as `%25FF`, and a middleware could no longer see the difference.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        self.path_is_exact = is_utf8(environ.get("PATH_INFO", "").encode("latin-1"))
        super().__init__(environ)


class Utf8PathMiddleware(Middleware):
    """Answers 404 for a path that is not UTF-8."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if getattr(request, "path_is_exact", True):
            return self.get_response(request)
        return errors.not_found(request)


class Utf8FormMiddleware(Middleware):
    """Reads every form as UTF-8, the encoding of the pages that send it.

    Django uses the `charset` of the request, even if it is not a text encoding, which would turn every form
    into a server error, including the sign-in form.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.encoding is not None:
            request.encoding = "utf-8"
        return self.get_response(request)


def set_private(response: HttpResponseBase) -> None:
    """Set `Cache-Control` on an answer that depends on its caller, unless it has the header.

    No proxy may store it. The client may if it has an entity tag, and must revalidate it.
    """
    policy = "private, no-cache" if response.has_header("ETag") else "private, no-store"
    response.headers.setdefault("Cache-Control", policy)


class CacheControlMiddleware(Middleware):
    """Sets `Cache-Control` on answers without it: refused requests and health checks."""

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.api = f"/{settings.EDITOR_API_PREFIX}/"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        path = request.path_info
        if path.startswith(self.api) or path in _HEALTH:
            set_private(response)
        return response


def has_body(request: HttpRequest) -> bool:
    return request.META.get("CONTENT_LENGTH", "") not in {"", "0"} or "HTTP_TRANSFER_ENCODING" in request.META


def declared_length(request: HttpRequest) -> int | None:
    """Return the declared length of the body; None if it is not a number."""
    text = request.META.get("CONTENT_LENGTH", "")
    return int(text) if text.isascii() and text.isdigit() else None


def find_refusal(request: HttpRequest) -> Refusal | None:
    """Return why the body of a request was refused; None if it was not."""
    scope = getattr(request, "scope", request.META)
    refusal: Refusal | None = scope.get(REFUSAL)
    return refusal


class BodyLimitMiddleware(Middleware):
    """Answers for refused bodies, and sets the length of chunked ones.

    `manage.py serve` and the ASGI application receive a body before Django does (`request_bodies`). Other
    WSGI servers pass on a body while it is still arriving: there this middleware enforces the size, and
    time limits are up to the server.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.api = f"/{settings.EDITOR_API_PREFIX}/"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refusal = find_refusal(request)
        if (
            refusal is None
            and request.META.get("CONTENT_LENGTH", "") == ""
            and ("chunked" in request.headers.get("Transfer-Encoding", "").lower())
        ):
            refusal = _buffer_chunks(request)
        elif refusal is None and (declared_length(request) or 0) > settings.EDITOR_MAX_BODY:
            refusal = Refusal.TOO_LARGE
        elif refusal is Refusal.RUNS_FULL and not request.path_info.startswith(self.api):
            refusal = None  # a page of the studio has its own message
        return self.get_response(request) if refusal is None else _refuse(request, refusal)


def _refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    match refusal:
        case Refusal.TOO_LARGE:
            return errors.too_large(settings.EDITOR_MAX_BODY)
        case Refusal.TOO_LARGE_FOR_ANONYMOUS:
            home, login = map(resolve_url, (settings.LOGIN_REDIRECT_URL, settings.LOGIN_URL))
            is_page = request.path.startswith(home) and request.path != login
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
        case Refusal.RUNS_FULL:
            return errors.runs_full(RunsFull())
        case Refusal.BROKEN:
            broken = Invalid.field("body", "was incomplete or had malformed chunks")
            return JsonResponse(errors.error_body(broken), status=400)


def _buffer_chunks(request: HttpRequest) -> Refusal | None:
    """Read a body without a declared length, or return why it is refused.

    Django treats a missing length as an empty body and would silently lose the data.
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
