"""A request id and a log line for every request; logs without the editor's own secrets."""

from __future__ import annotations

import json
import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import structlog
from django.http import HttpRequest, HttpResponse

from versioning.domain import telemetry

# API keys, links of invitations and for new passwords, secrets of webhooks, distinguished by the prefix.
_SECRET = re.compile(r"(e[ikp]_|whsec_)[A-Za-z0-9_+/-]{16,}=*")
_PREFIXES = ("ek_", "ei_", "ep_", "whsec_")


def without_secrets(text: str) -> str:
    """Return the text with every API key and other secret reduced to its prefix."""
    # Most texts contain no secret, and the regular expression is slow.
    return _SECRET.sub(r"\1[secret]", text) if any(prefix in text for prefix in _PREFIXES) else text


# docs/reference/logs.md documents this name.
logger = logging.getLogger("versioning.api.middleware")

_ALIKE: Final = vars(logger.makeRecord(logger.name, logging.INFO, "(unknown file)", 0, "request", (), None))
"""Attributes shared by the log records of all requests; threads are not logged."""

FAILED: Final = 500
TRACE_HEADERS: Final = ("traceparent", "tracestate")
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestRecord(logging.LogRecord):
    """The log record of a request: like `logger.info("request", extra=…)`, in a third of the time."""

    __slots__ = ("extra",)

    def __init__(self, extra: Mapping[str, Any]) -> None:
        self.extra = extra
        now = time.time()
        self.__dict__.update(_ALIKE, created=now, msecs=int(now * 1000) % 1000, **extra)


class RequestLine(NamedTuple):
    request_id: str
    method: str
    path: str
    status: int
    milliseconds: float


class RequestLinesHandler(logging.Handler):
    """A handler that can write the lines of several requests at once."""

    def handle_requests(self, lines: Sequence[RequestLine]) -> None:
        for line in lines:
            self.handle(make_record(line))


class RequestLogMiddleware:
    """Gives every request an id, the caller's `X-Request-ID` if it is safe, and one log line."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Log the request once it is answered; all lines logged meanwhile have its id."""
        request_id = request_id_for(request.headers.get("X-Request-ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(requestId=request_id)
        started = time.perf_counter()
        if telemetry.is_traced():
            with telemetry.request_span(str(request.method), request.path, trace_headers(request)) as span:
                response = self.get_response(request)
                span.set({"http.response.status_code": response.status_code})
        else:
            response = self.get_response(request)
        log_request(str(request.method), request.path, response.status_code, started)
        response["X-Request-ID"] = request_id
        is_json = response.get("Content-Type", "").startswith("application/json")
        if response.status_code >= FAILED and is_json and not response.streaming:
            response.content = json.dumps({**json.loads(response.content), "requestId": request_id})
            if response.has_header("Content-Length"):
                response["Content-Length"] = str(len(response.content))
        return response


def trace_headers(request: HttpRequest) -> dict[str, str]:
    """Return the caller's headers for distributed tracing."""
    return {name: request.headers[name] for name in TRACE_HEADERS if name in request.headers}


def request_id_for(request_id: str) -> str:
    """Return the id that the caller sent, if it is safe to log; otherwise a new one."""
    if _SAFE_ID.fullmatch(request_id):
        return request_id
    # The id only distinguishes requests and is no secret, so it need not be cryptographically secure.
    return f"{random.getrandbits(128):032x}"


def log_request(method: str, path: str, status: int, started: float, **more: str) -> None:
    """Log and measure a request that began at `started`, a reading of `time.perf_counter`."""
    telemetry.count_request(method, path, status, time.perf_counter() - started)
    if not logger.isEnabledFor(logging.INFO):
        return
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    path = without_secrets(path)
    extra = {**more, "method": method, "path": path, "status": status, "milliseconds": milliseconds}
    if logging.logThreads:
        logger.info("request", extra=extra)
    else:
        logger.handle(RequestRecord(extra))


def log_requests(lines: Sequence[RequestLine]) -> None:
    """Log and measure several requests at once, as `log_request` does for one."""
    if telemetry.is_measured():
        for line in lines:
            telemetry.count_request(line.method, line.path, line.status, line.milliseconds / 1000)
    if not lines or not logger.isEnabledFor(logging.INFO):
        return
    if logger.filters:
        for line in lines:
            logger.handle(make_record(line))
        return
    for handler in _handlers():
        if isinstance(handler, RequestLinesHandler):
            handler.handle_requests(lines)
        else:
            for line in lines:
                handler.handle(make_record(line))


def make_record(line: RequestLine) -> RequestRecord:
    extra = line._asdict()
    request_id = extra.pop("request_id")
    return RequestRecord(
        {
            "requestId": request_id,
            **extra,
            "path": without_secrets(line.path),
            "milliseconds": round(line.milliseconds, 1),
        }
    )


def _handlers() -> Iterator[logging.Handler]:
    """Yield the handlers that `logger.info` would call."""
    current: logging.Logger | None = logger
    while current is not None:
        yield from (handler for handler in current.handlers if handler.level <= logging.INFO)
        current = current.parent if current.propagate else None
