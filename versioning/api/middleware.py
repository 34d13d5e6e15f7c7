"""What happens to every request before a view sees it."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from versioning.api import errors

logger = logging.getLogger(__name__)

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DRAIN_LIMIT = 64 * 1024 * 1024

Handler = Callable[[HttpRequest], HttpResponse]


def request_log(get_response: Handler) -> Handler:
    """Give every request an id (the caller's `X-Request-ID`, when it is sane) and one line in the log."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started = time.perf_counter()
        response = get_response(request)
        logger.info(
            "request",
            extra={
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "milliseconds": round((time.perf_counter() - started) * 1000, 1),
            },
        )
        response["X-Request-ID"] = request_id
        return response

    return middleware


def body_limit(get_response: Handler) -> Handler:
    """Refuse bodies over `EDITOR_MAX_BODY` before anything reads them."""

    def middleware(request: HttpRequest) -> HttpResponse:
        declared = request.META.get("CONTENT_LENGTH") or "0"
        length = int(declared) if declared.isascii() and declared.isdigit() else 0
        if length <= settings.EDITOR_MAX_BODY:
            return get_response(request)
        # A client that is still sending would take a closed connection for a network fault and
        # never see the answer, so what it sends is read and thrown away.
        remaining = min(length, _DRAIN_LIMIT)
        while remaining > 0 and (chunk := request.read(min(remaining, 1 << 16))):
            remaining -= len(chunk)
        return errors.too_large()

    return middleware
