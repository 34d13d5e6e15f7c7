"""Cached answers, given before Django processes a request.

A thread that finds a cached answer to its request adds the request to a waiting list and takes the next one.
One thread at a time reads the position of the log, once for all waiting requests, and answers them: a query
that begins after a request has arrived is as good for it as a query of its own. So requests that arrive
together cost one statement and one write to the server's log, and no thread waits for another.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

import structlog
from django.conf import settings
from django.db import Error, close_old_connections

from versioning.api import cached_answers
from versioning.api.cached_answers import CachedResponse, CacheEntry, RequestIdentity
from versioning.api.request_log import TRACE_HEADERS, RequestLine, log_requests, request_id_for
from versioning.conf import get_editor
from versioning.domain import telemetry
from versioning.serving.followed_keys import TimedKey, keys
from versioning.serving.followed_log import Moment, log

logger = logging.getLogger(__name__)

_MIDDLEWARE: Final = f"{cached_answers.__name__}.cached_answers"
_REQUEST_ID: Final = cached_answers.REQUEST_ID.encode()
_UNUSUAL: Final = frozenset({b"content-length", b"transfer-encoding", b"cookie"})


class Read(NamedTuple):
    """A request whose answer can be cached, by a key that the process knows."""

    watcher: Any
    scope: dict[str, Any]
    request: RequestIdentity
    key: TimedKey
    request_id: str
    started_at: float
    trace: dict[str, str]
    """The caller's headers for distributed tracing."""


Waiting = tuple[Read, CacheEntry]


class CachedReads:
    """The requests of a worker that do not reach Django.

    `otherwise` answers a request whose answer is not cached after all; it is called in a separate thread.
    """

    def __init__(self, otherwise: Callable[[Any, dict[str, Any]], None], threads: int) -> None:
        # Correct only while no other middleware comes before this one.
        self._is_on = settings.MIDDLEWARE[:1] == [_MIDDLEWARE] and cached_answers.is_caching()
        self._headers = cached_answers.asked_headers()
        self._cache = get_editor().cache
        self._otherwise = otherwise
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="read")
        self._lock = Lock()
        self._waiting: list[Waiting] = []
        self._is_answering = False

    def take(self, watcher: Any, scope: dict[str, Any]) -> bool:
        """Accept a request if its answer is cached, or can be made like others; otherwise return False.

        Another thread may answer it, soon.
        """
        started_at = time.perf_counter()
        if scope["method"] != "GET" or not self._is_on:
            return False
        read = self._read(watcher, scope, started_at)
        if read is None:
            return False
        entry = cached_answers.cache_entry(self._cache, read.request, read.key)
        if entry is None:
            return self._make(read)
        if entry.content is None:
            return False
        with self._lock:
            self._waiting.append((read, entry))
            if self._is_answering:
                return True
            self._is_answering = True
        # Requests that arrived together with this one are admitted first: then one query serves them all.
        time.sleep(0)
        self._answer_all()
        return True

    def _read(self, watcher: Any, scope: dict[str, Any], started_at: float) -> Read | None:
        headers = dict(scope["headers"])
        authorization = headers.get(b"authorization")
        # A repeated header, or a body, takes the ordinary path.
        if authorization is None or len(headers) != len(scope["headers"]):
            return None
        key = keys.find_timed(authorization.decode("latin-1"))
        if key is None or not _UNUSUAL.isdisjoint(headers):
            return None
        path = scope["raw_path"]
        if b"%" in path:
            if path.lower().endswith(b"%2fparts"):  # an older id, not the route
                return None
            path = unquote_to_bytes(path)
        asked_headers = map(headers.get, self._headers)
        request = RequestIdentity.of(
            scope["scheme"].encode(), b"", scope["query_string"], asked_headers, path
        )
        request_id = request_id_for(headers.get(b"x-request-id", b"").decode("latin-1"))
        trace = {}
        if telemetry.is_traced():
            trace = {
                name: headers[header].decode("latin-1")
                for name in TRACE_HEADERS
                if (header := name.encode()) in headers
            }
        return Read(watcher, scope, request, key, request_id, started_at, trace)

    def _answer_all(self) -> None:
        """Answer the waiting requests, until there are none."""
        unanswered: list[Read] = []
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                self._is_answering = bool(waiting)
            if not waiting:  # the next thread answers
                break
            self._hand_on(unanswered)
            unanswered = self._answer(waiting)
            self._hand_on(unanswered[1:])
            unanswered = unanswered[:1]
        for read in unanswered:  # this thread has nothing else to do
            self._answer_anew(read)

    def _answer(self, waiting: Sequence[Waiting]) -> list[Read]:
        """Answer the requests whose cached answers are valid; return the others."""
        try:
            now = _now()
            # A file read after all of these have arrived is current for each of them.
            fingerprint = cache(self._cache.fingerprint)
            responses = [
                entry.response(self._cache, now, fingerprint) if now else None for _, entry in waiting
            ]
            answers = [
                (read, response)
                for (read, _), response in zip(waiting, responses, strict=True)
                if response is not None
            ]
            _log(answers)
            if answers:
                telemetry.count("editor_answer_cache_total", len(answers), result="hit")
        except BaseException:
            logger.exception("cached answers could not be given")
            return [read for read, _ in waiting]
        for read, response in answers:
            _send(read, response)
        return [read for (read, _), response in zip(waiting, responses, strict=True) if response is None]

    def _hand_on(self, reads: Sequence[Read]) -> None:
        for read in reads:
            self._threads.submit(self._answer_anew, read)

    def _answer_anew(self, read: Read) -> None:
        if not self._make(read):
            self._otherwise(read.watcher, read.scope)

    def _make(self, read: Read) -> bool:
        """Answer a request with the template of another one; return False if there is none."""
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(requestId=read.request_id)
        try:
            now = _now()
            response = cached_answers.render(self._cache, read.request, read.key, now) if now else None
            if response is None and now is not None:
                read.scope[cached_answers.UNANSWERED] = (read.request, now)
            if response is not None:
                _log([(read, response)])
                telemetry.count("editor_answer_cache_total", result="made")
        except BaseException:
            logger.exception("an answer could not be made")
            return False
        finally:
            close_old_connections()
        if response is None:
            return False
        _send(read, response)
        return True


def _now() -> Moment | None:
    """Return the current moment, once the log is followed to its end; None if it is unknown."""
    now = log.look()
    if now is not None:
        return now
    try:
        return log.follow()
    except Error:
        return None
    finally:
        close_old_connections()


def _log(answers: Sequence[tuple[Read, CachedResponse]]) -> None:
    now = time.perf_counter()
    log_requests(
        [
            RequestLine(
                read.request_id, "GET", response.path, response.status, (now - read.started_at) * 1000
            )
            for read, response in answers
        ]
    )
    if telemetry.is_traced():
        for read, response in answers:
            telemetry.report_answer("GET", response.path, response.status, now - read.started_at, read.trace)


def _send(read: Read, response: CachedResponse) -> None:
    headers = [*response.headers, (_REQUEST_ID, read.request_id.encode())]
    try:
        proto = read.watcher.proto
        proto.send({"type": "http.response.start", "status": response.status, "headers": headers})
        proto.send({"type": "http.response.body", "body": response.content})
    except BaseException:
        logger.exception("a cached answer could not be sent")
        read.watcher.done()
