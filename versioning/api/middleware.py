"""What happens to every request before a view sees it."""

from __future__ import annotations

import io
import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse

from versioning.api import errors
from versioning.canonical import is_utf8
from versioning.redaction import without_secrets

logger = logging.getLogger(__name__)

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DRAIN_LIMIT = 64 * 1024 * 1024
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


def body_limit(get_response: Handler) -> Handler:
    """Refuse bodies over `EDITOR_MAX_BODY`, and give those sent in chunks the length that they lack."""

    def middleware(request: HttpRequest) -> HttpResponse:
        limit = settings.EDITOR_MAX_BODY
        declared = request.META.get("CONTENT_LENGTH") or ""
        length = int(declared) if declared.isascii() and declared.isdigit() else 0
        if not declared and "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            length = _buffer_chunks(request, limit)
            if length == 0:
                # The server hands over nothing where the chunks are broken.
                return errors.plain(400, "bad_request", "The body came in chunks and could not be read.")
        elif length > limit:
            _drain(request, length)
        return get_response(request) if length <= limit else errors.too_large()

    return middleware


def _buffer_chunks(request: HttpRequest, limit: int) -> int:
    """Read a body that comes without a length, and return its length; beyond the limit it is dropped.

    Django takes a missing length for an empty body, and what was sent would be lost silently.
    """
    source = request.environ["wsgi.input"] if isinstance(request, WSGIRequest) else request
    body = b""
    while len(body) <= limit and (chunk := source.read(_CHUNK)):
        body += chunk
    _drain(source, _DRAIN_LIMIT if len(body) > limit else 0)
    request._stream = io.BytesIO(body)  # noqa: SLF001  there is no public way in
    request.META["CONTENT_LENGTH"] = str(len(body))
    return len(body)


def _drain(source: Any, length: int) -> None:
    # A client that is still sending would take a closed connection for a network fault and never
    # see the answer, so what it sends is read and thrown away.
    remaining = min(length, _DRAIN_LIMIT)
    while remaining > 0 and (chunk := source.read(min(remaining, _CHUNK))):
        remaining -= len(chunk)
