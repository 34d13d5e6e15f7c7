"""What happens to every request before a view sees it."""

from __future__ import annotations

import io
import logging
import re
import time
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from editor_client.shared.canonical import is_utf8

from versioning.api import errors
from versioning.api.admission import STRANGERS_LIMIT, Refusal, declared_length, refusal_of
from versioning.domain.errors import Invalid
from versioning.domain.redaction import without_secrets

logger = logging.getLogger(__name__)

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CHUNK = 1 << 16

Handler = Callable[[HttpRequest], HttpResponse]


def request_log(get_response: Handler) -> Handler:
    """Give every request an id (the caller's `X-Request-ID`, when it is sane) and one line in the log."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request_id = id_of(request.headers.get("X-Request-ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started = time.perf_counter()
        response = get_response(request)
        log_request(str(request.method), request.path, response.status_code, started)
        response["X-Request-ID"] = request_id
        return response

    return middleware


def id_of(given: str) -> str:
    """Return the id of a request: the one that its caller gave, when it is sane."""
    return given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex


def log_request(method: str, path: str, status: int, started: float, **more: str) -> None:
    """Write the line of a request that was begun at that time of the performance counter."""
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    path = without_secrets(path)
    extra = {**more, "method": method, "path": path, "status": status, "milliseconds": milliseconds}
    logger.info("request", extra=extra)


def cache_control(get_response: Handler) -> Handler:
    """Say of every answer of the API, and of the health of the service, who may keep it.

    What a caller gets depends on who it is, so no proxy may keep it. With an entity tag the caller
    itself may, and asks each time whether it still holds. The description of the API is public.
    """
    api = f"/{settings.EDITOR_API_PREFIX}/"
    public = {f"{api}schema", f"{api}docs"}
    health = {"/healthz", "/readyz"}

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        path = request.path_info
        if path.startswith(api) or path in health:
            is_public = path in public and response.status_code == HTTPStatus.OK
            mine = "private, no-cache" if response.has_header("ETag") else "private, no-store"
            response.headers.setdefault("Cache-Control", "public, max-age=300" if is_public else mine)
        return response

    return middleware


class ExactWSGIRequest(WSGIRequest):
    """A request that remembers whether its path was UTF-8.

    Django writes a broken byte as the text that spells it, so that `%FF` would name the same
    resource as `%25FF`, and by the time a middleware sees the path the difference is gone.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        self.path_is_exact = is_utf8(environ.get("PATH_INFO", "").encode("latin-1"))
        super().__init__(environ)


def exact_address(get_response: Handler) -> Handler:
    """Answer for paths that are not UTF-8: nothing is there."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if getattr(request, "path_is_exact", True):
            return get_response(request)
        return errors.not_found(request)

    return middleware


def utf8_forms(get_response: Handler) -> Handler:
    """Read every form as UTF-8, which is what pages are sent in.

    Django believes the `charset` of a request, also one that is no encoding of text and would make
    every form, that of the sign-in included, an error of the server.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.encoding is not None:
            request.encoding = "utf-8"
        return get_response(request)

    return middleware


def body_limit(get_response: Handler) -> Handler:
    """Answer for bodies that were not taken, and give those sent in chunks the length that they lack.

    `manage.py serve` and the ASGI application receive a body before a view is asked (`admission`).
    Another WSGI server hands over what is still coming in: there the limit is kept here, and how long
    a client may take is that server's business.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        refusal = refusal_of(request)
        if refusal is None and request.META.get("CONTENT_LENGTH", "") == "" and _is_chunked(request):
            refusal = _buffer_chunks(request)
        elif refusal is None and (declared_length(request) or 0) > settings.EDITOR_MAX_BODY:
            refusal = Refusal.TOO_LARGE
        return get_response(request) if refusal is None else _refused(request, refusal)

    return middleware


def _refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    match refusal:
        case Refusal.TOO_LARGE:
            return errors.too_large(settings.EDITOR_MAX_BODY)
        case Refusal.TOO_LARGE_FOR_A_STRANGER:
            path = request.path_info
            is_page = path.startswith(settings.LOGIN_REDIRECT_URL) and path != settings.LOGIN_URL
            return (
                redirect_to_login(request.get_full_path()) if is_page else errors.too_large(STRANGERS_LIMIT)
            )
        case Refusal.NO_ROOM:
            response = errors.plain(
                503, "too_busy", "Too many bodies are being received. Send it again soon."
            )
            response["Retry-After"] = "1"
            return response
        case Refusal.TOO_SLOW:
            response = errors.plain(408, "request_timeout", "The body took too long to arrive.")
            response["Connection"] = "close"
            return response
        case Refusal.BROKEN:
            broken = Invalid.field("body", "broke off, or came in chunks that are none")
            return JsonResponse(errors.body(broken), status=400)


def _is_chunked(request: HttpRequest) -> bool:
    return "chunked" in request.headers.get("Transfer-Encoding", "").lower()


def _buffer_chunks(request: HttpRequest) -> Refusal | None:
    """Read a body that comes without a length, or say why it is not taken.

    Django takes a missing length for an empty body, and what was sent would be lost silently.
    """
    source = request.environ["wsgi.input"] if isinstance(request, WSGIRequest) else request
    body = b""
    while chunk := source.read(_CHUNK):
        body += chunk
        if len(body) > settings.EDITOR_MAX_BODY:
            return Refusal.TOO_LARGE
    request._stream = io.BytesIO(body)  # noqa: SLF001  there is no public way in
    request.META["CONTENT_LENGTH"] = str(len(body))
    # A server hands over nothing where the chunks are broken.
    return None if body else Refusal.BROKEN
