"""Structured logs: one JSON object per line on standard error, or readable lines when debugging."""

from __future__ import annotations

import datetime
import json
import logging
import logging.config
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, TextIO

import structlog

from versioning.api.request_log import (
    RequestLine,
    RequestLinesHandler,
    RequestRecord,
    make_record,
    without_secrets,
)
from versioning.api.request_log import (
    logger as request_logger,
)

# Django adds the request itself, whose representation contains the query parameters.
_LEFT_OUT = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "request"})


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, with its `extra` and the request's bound values.

    Every request is logged, so this avoids structlog's chain of processors, which took a quarter of the time
    of a read.
    """

    _encode = json.JSONEncoder(default=repr).encode

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record, RequestRecord):
            extra = record.extra
        else:
            extra = {name: value for name, value in vars(record).items() if name not in _LEFT_OUT}
        line = {
            "event": record.getMessage(),
            **structlog.contextvars.get_contextvars(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **extra,
            "timestamp": _timestamp(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._encode(line)

    def format_requests(self, lines: Sequence[RequestLine]) -> str:
        """Return the lines of several requests' records, five times as fast as `format`."""
        then = f'"timestamp": "{_timestamp()}"}}'
        return "\n".join(
            f'{{"event": "request", "requestId": {quoted(request_id)}, {_OF_REQUESTS}, "method": '
            f'{quoted(method)}, "path": {quoted(path)}, "status": {status}, "milliseconds": '
            f"{milliseconds:.1f}, {then}"
            for request_id, method, path, status, milliseconds in lines
        )


_OF_REQUESTS = f'"level": "info", "logger": {quoted(request_logger.name)}'


def _timestamp() -> str:
    return f"{datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


class DiscreetHandler(logging.StreamHandler[TextIO], RequestLinesHandler):
    """Writes to standard error, removing secrets that a line may contain."""

    def handle_requests(self, lines: Sequence[RequestLine]) -> None:
        """Write the lines, at once if they are JSON."""
        if self.filters or not isinstance(self.formatter, JsonLines):
            super().handle_requests(lines)
            return
        try:
            text = without_secrets(self.formatter.format_requests(lines))
            self.acquire()
            try:
                self.stream.write(text + self.terminator)
                self.flush()
            finally:
                self.release()
        except Exception:  # noqa: BLE001  as in every handler, it must not fail who logs
            self.handleError(make_record(lines[0]))

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def _without_request(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    event.pop("request", None)
    return event


def logging_config(*, debug: bool) -> None:
    """Return a configuration in which Django, libraries and the editor share one formatter."""
    shared = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _without_request,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    for_people = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": shared,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.dev.ConsoleRenderer(),
        ],
    }
    if not debug:
        # JSON lines do not need this, and determining it takes a quarter of the time of a line.
        logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
        logging._srcfile = None  # noqa: SLF001  as Python's own guide has it
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"structured": for_people if debug else {"()": JsonLines}},
            "handlers": {"stderr": {"()": DiscreetHandler, "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": {
                "versioning": {"level": "INFO"},
                # A 4xx is the caller's problem, and is already in the request's own line.
                "django.request": {"level": "ERROR"},
            },
        }
    )
