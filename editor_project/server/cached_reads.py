"""Cached answers, given before Django does anything about a request.

Whoever finds that an answer to its request is cached leaves the request with the others that wait, and
takes the next one. One thread at a time asks where the log is, once for all that wait by then, and answers
them: a question that begins after a request has arrived is as good for it as a question of its own. So
requests that arrive together cost one statement and one write to the log of the server, and no thread
waits for another.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.db import Error, close_old_connections

from versioning.api import cached_answers
from versioning.api.cached_answers import CachedResponse, Candidate
from versioning.api.middleware.request_log import RequestLine, log_requests, request_id_for
from versioning.conf import get_editor
from versioning.serving.followed_log import Moment, log

logger = logging.getLogger(__name__)

_MIDDLEWARE: Final = f"{cached_answers.__name__}.cached_answers"
_REQUEST_ID: Final = cached_answers.REQUEST_ID.encode()
_UNUSUAL: Final = frozenset({b"content-length", b"transfer-encoding", b"cookie"})


class Waiting(NamedTuple):
    """A request to which an answer is cached."""

    watcher: Any
    scope: dict[str, Any]
    candidate: Candidate
    request_id: str
    begun: float


class CachedReads:
    """The requests of a worker to which an answer is cached.

    `otherwise` answers a request whose cached answer is not right any more; it is called in a thread of
    its own.
    """

    def __init__(self, otherwise: Callable[[Any, dict[str, Any]], None], threads: int) -> None:
        # Right only while no other middleware stands before this one.
        self._is_on = settings.MIDDLEWARE[:1] == [_MIDDLEWARE] and cached_answers.is_caching()
        self._headers = cached_answers.asked_headers()
        self._cache = get_editor().cache
        self._otherwise = otherwise
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="read")
        self._lock = Lock()
        self._waiting: list[Waiting] = []
        self._is_answering = False

    def take(self, watcher: Any, scope: dict[str, Any]) -> bool:
        """Take a request, if an answer to it is cached; it is answered soon, perhaps by another thread."""
        begun = time.perf_counter()
        if scope["method"] != "GET" or not self._is_on:
            return False
        headers = dict(scope["headers"])
        found = self._candidate(scope, headers)
        if found is None:
            return False
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request = Waiting(watcher, scope, found, request_id_for(given), begun)
        with self._lock:
            self._waiting.append(request)
            if self._is_answering:
                return True
            self._is_answering = True
        # Requests that have arrived with this one are let in first: then one question serves them all.
        time.sleep(0)
        self._answer_all()
        return True

    def _candidate(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> Candidate | None:
        authorization = headers.get(b"authorization")
        # Who sends a header twice, or a body, is answered in the ordinary way.
        if authorization is None or len(headers) != len(scope["headers"]):
            return None
        if not _UNUSUAL.isdisjoint(headers):
            return None
        path = scope["raw_path"]
        if b"%" in path:
            path = unquote_to_bytes(path)
        asked = scope["scheme"].encode(), b"", scope["query_string"]
        digest = cached_answers.digest_of(asked, map(headers.get, self._headers), path)
        return cached_answers.candidate(self._cache, digest, authorization.decode("latin-1"))

    def _answer_all(self) -> None:
        """Answer the requests that wait, until there are none."""
        left: list[Waiting] = []
        while requests := self._next():
            self._hand_on(left)
            left = self._answer(requests)
            self._hand_on(left[1:])
            left = left[:1]
        for request in left:  # this thread has nothing else to do
            self._otherwise(request.watcher, request.scope)

    def _hand_on(self, requests: Sequence[Waiting]) -> None:
        for request in requests:
            self._threads.submit(self._otherwise, request.watcher, request.scope)

    def _next(self) -> list[Waiting]:
        """Return the requests that wait; if there are none, whoever comes next answers."""
        with self._lock:
            requests, self._waiting = self._waiting, []
            self._is_answering = bool(requests)
        return requests

    def _answer(self, requests: Sequence[Waiting]) -> list[Waiting]:
        """Answer the requests whose cached answers are right; return the others."""
        try:
            now = _now()
            responses = [
                request.candidate.response(self._cache, now) if now else None for request in requests
            ]
            _log(requests, responses)
        except BaseException:
            logger.exception("cached answers could not be given")
            return list(requests)
        left = []
        for request, response in zip(requests, responses, strict=True):
            if response is None:
                left.append(request)
            else:
                _send(request, response)
        return left


def _now() -> Moment | None:
    """Return this moment, once the log is followed to where it is; None if nobody can say."""
    now = log.look()
    if now is not None:
        return now
    try:
        return log.follow()
    except Error:
        return None
    finally:
        close_old_connections()


def _log(requests: Sequence[Waiting], responses: Sequence[CachedResponse | None]) -> None:
    now = time.perf_counter()
    log_requests(
        [
            RequestLine(request.request_id, "GET", found.path, found.status, (now - request.begun) * 1000)
            for request, found in zip(requests, responses, strict=True)
            if found is not None
        ]
    )


def _send(request: Waiting, found: CachedResponse) -> None:
    headers = [*found.headers, (_REQUEST_ID, request.request_id.encode())]
    try:
        proto = request.watcher.proto
        proto.send({"type": "http.response.start", "status": found.status, "headers": headers})
        proto.send({"type": "http.response.body", "body": found.content})
    except BaseException:
        logger.exception("a cached answer could not be sent")
        request.watcher.done()
