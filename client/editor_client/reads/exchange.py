"""One request to the server: the effects that flows yield, retries, time limits, and certificates."""

from __future__ import annotations

import logging
import random
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from typing import Any, Self, TypeVar

import httpcore2
import httpx2

from editor_client.calls import Answer, Request
from editor_client.errors import EditorError, Unreachable, from_answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request and return the `Answer`, or raise `NoAnswer`, by the deadline."""

    request: Request
    deadline: float
    etag: str | None = None
    while_closing: bool = False
    """Whether it may be sent while the client is being closed."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait; closing the client ends the wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DiskWork:
    """Call a function that uses the disk, and return its result."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class InBackground:
    """Start a flow in the background and continue."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class Follow:
    """Start the flow that runs until the client is closed, unless it was already started."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wait until another caller has finished something, or until the deadline."""

    future: Future[None]
    deadline: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Open a stream of events by the deadline, or raise `NoAnswer`.

    The result is the driver's stream, or an `Answer` that is not a stream.
    """

    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class ReadStream:
    """Return the next bytes of a stream, empty at its end, or raise `NoAnswer` at the deadline."""

    stream: Any
    """The driver's result for `OpenStream`."""
    deadline: float


@dataclass(frozen=True, slots=True)
class CloseStream:
    """Close a stream."""

    stream: Any


Effect = Send | Sleep | DiskWork | InBackground | Follow | WaitFor | OpenStream | ReadStream | CloseStream
Flow = Generator[Effect, Any, T]


class NoAnswer(Exception):
    """There was no response, or only a partial one."""

    def __init__(self, reason: str, *, in_time: bool = True, sent: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.in_time = in_time
        """Whether it failed before the time ran out."""
        self.sent = sent
        """Whether the server may have received the request."""


class ClientClosed(RuntimeError):
    """The client has been closed, so nothing can be sent."""


logger = logging.getLogger("editor_client")

TOO_MANY = 429
CONFLICT, IN_PROGRESS = 409, b'"idempotency_in_progress"'
DOWN = {502, 503, 504}
"""A proxy answers with these if the server does not."""

BACK_OFF_SECONDS = 0.1
QUICK_SECONDS = 1.0
"""After a failure within this time the next caller may try immediately."""
REST_SECONDS = 5.0
"""The seconds for which an unresponsive server gets no requests for cached answers."""

NEVER = float("-inf")


class Exchange:
    """The shared state of one client's requests.

    While the server is `down`, nothing is retried, and of the callers that have a cached answer only one at a
    time checks whether it is back; the others do not wait. After a check of a `silent` server, which takes
    long, no further check is made for a while.
    """

    def __init__(self, retries: int, clock: Callable[[], float], *, idempotent: bool = False) -> None:
        self.down = False
        self.silent = False
        """Whether it is down and does not respond."""
        self._due = NEVER
        self._is_told = False
        self._idempotent = idempotent
        self._retries = retries
        self._clock = clock
        self._probing = Lock()
        self._telling = Lock()

    def after_fork(self) -> None:
        """Start over in a forked process, where other threads are gone."""
        self._probing, self._telling = Lock(), Lock()

    @property
    def rests(self) -> bool:
        """Whether a caller that can continue without an answer should not wait for one."""
        return self.silent and (self._clock() < self._due or self._probing.locked())

    def lose(self, *, silent: bool) -> None:
        """Record that no server answers; `silent` if the failure was slow."""
        if silent:
            self._due = self._clock() + REST_SECONDS
        self.down, self.silent = True, silent

    def hear(self) -> None:
        """Record that the server answers."""
        self.down = self.silent = False
        with self._telling:
            is_over, self._is_told = self._is_told, False
        if is_over:
            logger.info("the server answers again")

    def is_news(self) -> bool:
        """Return whether to log the outage; once for each."""
        with self._telling:
            is_news, self._is_told = not self._is_told, True
        return is_news

    @contextmanager
    def probe(self) -> Iterator[bool]:
        """Return whether the caller should send a request to a server that is down."""
        mine = self._probing.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                self._probing.release()

    def ask(
        self, request: Request, timeout: float, *, etag: str | None = None, wait: bool = True
    ) -> Flow[Answer]:
        """Send a request and return the answer of any status; reads are retried, and idempotent posts.

        All attempts together take at most `timeout` seconds. A caller with a cached answer does not `wait`
        for the pause that the server requests. Raises `Unreachable`.
        """
        is_read = request.method == "GET"
        deadline = self._clock() + timeout
        if self._idempotent and request.method == "POST":
            request = replace(request, idempotency_key=uuid.uuid4().hex)
        repeats = is_read or request.idempotency_key is not None
        retries = self._retries if repeats and not self.down else 0
        for attempt in count():
            started_at = self._clock()
            outcome: Answer | NoAnswer
            try:
                outcome = yield Send(request, deadline, etag)
            except NoAnswer as error:
                outcome = error
            ended_at = self._clock()
            if attempt >= retries or not (_is_down(outcome) or _is_busy(outcome)):
                break
            retry_after = _retry_after(outcome) if isinstance(outcome, Answer) else None
            # Random, so that many clients that lost the server together do not return at the same time.
            pause = retry_after or BACK_OFF_SECONDS * 2.0**attempt * random.uniform(0.5, 1)  # noqa: S311  no secret
            if self._clock() + pause >= deadline or not (wait or retry_after is None):
                break
            yield Sleep(pause)
        if is_read and _is_down(outcome):
            is_late = isinstance(outcome, NoAnswer) and not outcome.in_time
            self.lose(silent=is_late or ended_at - started_at > QUICK_SECONDS)
        elif (is_read or self.silent) and not _is_down(outcome):
            self.hear()
        if isinstance(outcome, NoAnswer):
            raise unreachable(outcome, is_read=is_read) from outcome.__cause__
        return outcome


def failure(answer: Answer) -> EditorError:
    """Return the error for an unsuccessful answer."""
    return from_answer(
        answer.status, answer.content, _retry_after(answer), answer.headers.get("x-request-id")
    )


def unreachable(problem: NoAnswer, *, is_read: bool = True) -> Unreachable:
    """Return the error for a missing answer."""
    doubt = "" if is_read or not problem.sent else " It is unknown whether it was done."
    code = "unreachable" if problem.in_time else "timeout"
    return Unreachable(f"The server did not answer: {problem.reason}.{doubt}", code=code)


def _retry_after(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None


def _is_down(outcome: Answer | NoAnswer) -> bool:
    return isinstance(outcome, NoAnswer) or outcome.status in DOWN


def _is_busy(outcome: Answer | NoAnswer) -> bool:
    if not isinstance(outcome, Answer):
        return False
    # The first attempt is in progress, and its answer has not arrived.
    return outcome.status == TOO_MANY or (outcome.status == CONFLICT and IN_PROGRESS in outcome.content)


def http_libraries() -> tuple[Any, ...]:
    """Return httpx2, and httpx if the application has loaded it."""
    earlier = sys.modules.get("httpx")
    return (httpx2,) if earlier in {None, httpx2} else (httpx2, earlier)


def classes(*names: str) -> tuple[type[Any], ...]:
    """Return the classes with these names, of both libraries."""
    return tuple(getattr(library, name) for library in http_libraries() for name in names)


class Deadline(threading.local):
    """The deadline for the request of this thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.time: float | None = None

    def at(self, moment: float) -> Self:
        """Set the deadline for requests of this thread within a `with` block."""
        self.time = moment
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        self.time = None

    def limit(self, timeout: float | None, error: type[Exception]) -> float | None:
        """Return the seconds that a wait may take; raises the error if no time is left."""
        if self.time is None:
            return timeout
        remaining = self.time - self._clock()
        if remaining <= 0:
            raise error("there is no time left")
        return remaining if timeout is None else min(timeout, remaining)

    def apply_to(self, client: httpx2.Client) -> None:
        """Apply the deadline to the connections of an httpx2 client, including those through proxies."""
        for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
            pool = getattr(transport, "_pool", None)
            backend = getattr(pool, "_network_backend", None)
            if pool is not None and backend is not None:
                pool._network_backend = _Backend(backend, self)  # noqa: SLF001


class _Backend(httpcore2.NetworkBackend):
    """Connects like another backend, within the deadline."""

    def __init__(self, inner: httpcore2.NetworkBackend, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        limit = self._deadline.limit(timeout, httpcore2.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, limit, local_address, socket_options)
        return _Stream(stream, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    """A connection whose waits are all within the deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.limit(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.limit(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        limit = self._deadline.limit(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, limit), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
