"""One request to the server: retries, the time limit, and whether the server is down."""

from __future__ import annotations

import logging
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from threading import Lock

from editor_client.calls import Answer, Request
from editor_client.errors import EditorError, Unreachable, from_answer
from editor_client.reads.effects import Flow, NoAnswer, Send, Sleep

logger = logging.getLogger("editor_client")

TOO_MANY = 429
CONFLICT, IN_PROGRESS = 409, b'"idempotency_in_progress"'
DOWN = {502, 503, 504}
"""A proxy answers with these if the server does not."""

BACK_OFF_SECONDS = 0.1
QUICK_SECONDS = 1.0
"""A failure within this time costs a caller little, so that the next one may try at once."""
REST_SECONDS = 5.0
"""How long a server that let a caller wait in vain is not asked for what is held."""

NEVER = float("-inf")


class Exchange:
    """The shared state of one client's requests.

    While the server is `down`, nothing is sent twice, and of the callers that have a cached answer only one
    at a time checks whether it is back; the others do not wait. A server that is `silent`, so that the check
    itself takes long, is left alone for a while after each.
    """

    def __init__(self, retries: int, clock: Callable[[], float], *, idempotent: bool = False) -> None:
        self.down = False
        self.silent = False
        """Whether it is down and lets callers wait."""
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
        """Whether a caller that can do without an answer should not wait for one."""
        return self.silent and (self._clock() < self._due or self._probing.locked())

    def lose(self, *, silent: bool) -> None:
        """Record that no server answers; `silent` if that took long to find out."""
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
        """Return whether the outage is to be logged; once for each."""
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
            began = self._clock()
            outcome = yield from _attempt(Send(request, deadline, etag))
            ended = self._clock()
            if attempt >= retries or not (_is_down(outcome) or _is_busy(outcome)):
                break
            wanted = _retry_after(outcome) if isinstance(outcome, Answer) else None
            pause = wanted or _back_off(attempt)
            if self._clock() + pause >= deadline or not (wait or wanted is None):
                break
            yield Sleep(pause)
        if is_read and _is_down(outcome):
            is_late = isinstance(outcome, NoAnswer) and not outcome.in_time
            self.lose(silent=is_late or ended - began > QUICK_SECONDS)
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
    doubt = "" if is_read or not problem.sent else " No one knows whether it was done."
    code = "unreachable" if problem.in_time else "timeout"
    return Unreachable(f"The server did not answer: {problem.reason}.{doubt}", code=code)


def _retry_after(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None


def _attempt(send: Send) -> Flow[Answer | NoAnswer]:
    try:
        answer: Answer = yield send
    except NoAnswer as error:
        return error
    return answer


def _is_down(outcome: Answer | NoAnswer) -> bool:
    return isinstance(outcome, NoAnswer) or outcome.status in DOWN


def _is_busy(outcome: Answer | NoAnswer) -> bool:
    if not isinstance(outcome, Answer):
        return False
    # The first attempt is in progress, and its answer has not arrived.
    return outcome.status == TOO_MANY or (outcome.status == CONFLICT and IN_PROGRESS in outcome.content)


def _back_off(attempt: int) -> float:
    # Random, so that many clients that lost the server together do not return at the same time.
    return BACK_OFF_SECONDS * 2.0**attempt * random.uniform(0.5, 1)  # noqa: S311  no secret
