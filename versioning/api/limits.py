"""Limits of one process: request bodies, runs and open streams."""

from __future__ import annotations

from asyncio import timeout
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from threading import RLock
from typing import Any, Final, NamedTuple, TypeVar, cast

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.db import Error, close_old_connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import Resolver404, resolve

from versioning.domain.errors import VersioningError
from versioning.models import storage
from versioning.serving.followed_keys import bearer_key, keys

REFUSAL: Final = "editor.body_refusal"
"""The key of the reason for a refusal, in a WSGI environment or an ASGI scope."""

ANONYMOUS_LIMIT: Final = 16 * 1024  # bytes; a sign-in form has a few hundred
ANONYMOUS_SECONDS: Final = 5.0
DISCARDED_LIMIT: Final = 64 * 1024 * 1024
MEMORY_LIMIT: Final = 128 * 1024 * 1024

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Refusal(StrEnum):
    """Why a request was refused before a view was called, in most cases because of its body."""

    TOO_LARGE = "too large"
    TOO_LARGE_FOR_ANONYMOUS = "too large for an anonymous caller"
    TOO_SLOW = "too slow"
    NO_MEMORY = "no memory left"
    BROKEN = "broken off"
    RUNS_FULL = "too many runs"


MAY_STILL_SEND: Final = frozenset({Refusal.TOO_LARGE, Refusal.TOO_LARGE_FOR_ANONYMOUS, Refusal.NO_MEMORY})
"""The refusals that are answered while the client may still be sending."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The maximum size of a body, and how long it may take to arrive."""

    size: int
    seconds: float
    too_large: Refusal = Refusal.TOO_LARGE

    @property
    def is_for_anonymous(self) -> bool:
        """Whether the caller is anonymous, so that views do no work for them."""
        return self.too_large is Refusal.TOO_LARGE_FOR_ANONYMOUS


def limits_for(request: HttpRequest) -> BodyLimits | None:
    """Return the limits for the body of a request, from its head alone; None if no body is read.

    The API reads bodies only from callers with a valid key or session; a key that was valid within the last
    minute suffices, because the view checks its current rights. The sign-in form is sent by people who are
    not signed in yet, so all other URLs have small limits.
    """
    try:
        is_known = _is_known(request)
    except Error:  # the view will refuse it
        return None
    finally:
        close_old_connections()
    if is_known:
        return BodyLimits(settings.EDITOR_MAX_BODY, settings.EDITOR_BODY_TIMEOUT)
    if request.path_info.startswith(f"/{settings.EDITOR_API_PREFIX}/"):
        return None
    return BodyLimits(
        min(ANONYMOUS_LIMIT, settings.EDITOR_MAX_BODY),
        min(ANONYMOUS_SECONDS, settings.EDITOR_BODY_TIMEOUT),
        Refusal.TOO_LARGE_FOR_ANONYMOUS,
    )


class BodyMemory:
    """Limits the memory that incomplete bodies take in a process; used by one event loop only.

    Each body is within its own limit, but thousands of incomplete ones can take gigabytes.
    """

    def __init__(self, size: int = MEMORY_LIMIT) -> None:
        self._unreserved = size

    @asynccontextmanager
    async def receive_body(
        self, receive: Receive, limits: BodyLimits, length: int | None
    ) -> AsyncIterator[bytes | Refusal]:
        """Yield the body of an ASGI request or its refusal; `length` is the declared length."""
        reserved = 0

        def take(size: int) -> bool:
            nonlocal reserved
            reserved += size
            self._unreserved -= size
            return self._unreserved >= 0

        try:
            body = await _receive_body(receive, limits, length, take)
            if isinstance(body, Refusal):
                self._unreserved += reserved
                reserved = 0
            yield body
        finally:
            self._unreserved += reserved


async def _receive_body(
    receive: Receive, limits: BodyLimits, length: int | None, take: Callable[[int], bool]
) -> bytes | Refusal:
    if length is not None and length > limits.size:
        return limits.too_large
    parts: list[bytes] = []
    size = 0
    with suppress(TimeoutError):
        async with timeout(limits.seconds):
            while length is None or size < length:
                message = await receive()
                if message["type"] != "http.request":
                    return Refusal.BROKEN
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limits.size:
                    return limits.too_large
                if not take(len(parts[-1])):
                    return Refusal.NO_MEMORY
                if not message.get("more_body"):
                    break
            return b"".join(parts) if length in {None, size} else Refusal.BROKEN
    return Refusal.TOO_SLOW


async def wait_for_disconnect(receive: Receive) -> Mapping[str, Any]:
    """Wait until the client disconnects, and return the message about it."""
    while (message := await receive())["type"] == "http.request":  # the end of a body of known length
        pass
    return message


async def discard(receive: Receive) -> None:
    """Read the rest of a body and discard it, for `ANONYMOUS_SECONDS` at most.

    If the connection closed while a client is sending, it would see a network error instead of the answer.
    """
    remaining = DISCARDED_LIMIT
    with suppress(TimeoutError):
        async with timeout(ANONYMOUS_SECONDS):
            while remaining > 0:
                message = await receive()
                if not message.get("more_body"):
                    return
                remaining -= len(message["body"])


def _is_known(request: HttpRequest) -> bool:
    key = bearer_key(request.headers.get("Authorization", ""))
    if key is not None:
        return keys.was_usable(key) or keys.find(key) is not None
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    SessionMiddleware(_no_response).process_request(request)
    return get_user(request).is_authenticated


def _no_response(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the session's middleware reads a request here, and never answers one")


RETRY_AFTER: Final = 5
"""Seconds after which a refused caller may try again."""

ADMITTED: Final = "editor.run_admitted"
"""The key in a WSGI environment or an ASGI scope: the server has reserved a place for the request."""

_Handler = TypeVar("_Handler", bound=Callable[..., Any])


class RunsFull(VersioningError):
    """The process has reached its limits of running and of waiting runs."""

    code = "runs_full"

    def __init__(self) -> None:
        count = settings.EDITOR_RUN_THREADS
        super().__init__(f"The server has {count} runs in progress, and as many are waiting. Try again soon.")


class Place:
    """The place of a request among the runs of the process, in progress or waiting."""

    def __init__(self, queue: RunQueue) -> None:
        self._queue = queue
        self.turn: Future[None] = Future()
        """Set when the run may begin."""
        self.is_left = False

    def leave(self) -> None:
        """Release the place after the run, or without one, so that the next run can begin."""
        self._queue.leave(self)

    def __del__(self) -> None:
        # Without this, a server that drops an answer without closing it would keep the place for ever.
        self.leave()


class RunQueue:
    """The places of a process: `EDITOR_RUN_THREADS` runs in progress, and as many that wait, in order."""

    def __init__(self) -> None:
        # A garbage-collected place is released in any thread, at any point of its code.
        self._lock = RLock()
        self._running = 0
        self._waiting: deque[Place] = deque()

    def join(self) -> Place:
        """Return a new place; raises `RunsFull`."""
        place = Place(self)
        with self._lock:
            if self._running >= settings.EDITOR_RUN_THREADS:
                if len(self._waiting) >= settings.EDITOR_RUN_THREADS:
                    place.is_left = True
                    raise RunsFull
                self._waiting.append(place)
                return place
            self._running += 1
        place.turn.set_result(None)
        return place

    def leave(self, place: Place) -> None:
        """Release a place; only the first call counts."""
        following = None
        with self._lock:
            if place.is_left:
                return
            place.is_left = True
            if place in self._waiting:
                self._waiting.remove(place)
            elif self._waiting:
                following = self._waiting.popleft()
            else:
                self._running -= 1
        if following is not None:
            following.turn.set_result(None)


runs: Final = RunQueue()


def waits_for_models(handler: _Handler) -> _Handler:
    """Mark a handler of a REST framework or Django view that calls models.

    It takes a place among the runs of the process until the answer is complete, unless the server already
    has. Then the request waits in its thread, even if its client disconnects. The handler raises `RunsFull`.
    """

    @wraps(handler)
    def handle(view: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        django_request = getattr(request, "_request", request)
        is_asgi = isinstance(django_request, ASGIRequest)
        server: dict[str, Any] = django_request.scope if is_asgi else django_request.META
        if server.get(ADMITTED):
            return handler(view, request, *args, **kwargs)
        if server.get(REFUSAL) is Refusal.RUNS_FULL:
            raise RunsFull
        place = runs.join()
        try:
            if not place.turn.done():
                storage.give_back()
                place.turn.result()
            server[ADMITTED] = True  # for another handler that this one calls
            answer = handler(view, request, *args, **kwargs)
        except BaseException:
            place.leave()
            raise
        if isinstance(answer, StreamingHttpResponse):
            closers: list[Callable[[], None]] = answer._resource_closers  # type: ignore[attr-defined]  # noqa: SLF001
            closers.append(place.leave)
        else:
            place.leave()
        return answer

    handle.waits_for_models = True  # type: ignore[attr-defined]
    return cast("_Handler", handle)


def is_run(method: str, path: str) -> bool:
    if method != "POST":
        return False
    try:
        view: Any = resolve(path).func
    except Resolver404:
        return False
    views = getattr(view, "cls", None) or getattr(view, "view_class", None)
    handler = getattr(views, getattr(view, "actions", {}).get("post", "post"), None)
    return getattr(handler, "waits_for_models", False)


OPEN_STREAMS: Final = "editor.open_streams"
"""The key in the environment of a WSGI request."""

IN_EVENT_LOOP: Final = 200
"""The default of `EDITOR_STREAMS` if an event loop sends them."""

IN_THREADS: Final = 4
"""The default if each of them takes one of the server's threads."""


class Capacity(NamedTuple):
    streams: int
    """The maximum number in this process."""
    in_event_loop: bool
    """Whether their responses must be asynchronous."""


def in_event_loop() -> int:
    """Return the maximum number of streams for a process whose event loop sends them."""
    return IN_EVENT_LOOP if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)


def capacity(request: HttpRequest) -> Capacity:
    if OPEN_STREAMS in request.META:
        return Capacity(request.META[OPEN_STREAMS], in_event_loop=True)
    if isinstance(request, ASGIRequest):
        return Capacity(in_event_loop(), in_event_loop=True)
    in_threads = IN_THREADS if settings.EDITOR_STREAMS is None else int(settings.EDITOR_STREAMS)
    return Capacity(in_threads, in_event_loop=False)
