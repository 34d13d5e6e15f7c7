"""How a run is carried out, besides what its caller asks for: by a program that runs agents on its own.

`Conduct` says under which name its use is counted, and what answers in place of tools. `Stop` ends what a
thread waits for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final


class Live:
    """The tool itself is called."""


LIVE: Final = Live()
AnswersTool = Callable[[str, Mapping[str, Any]], Any]
"""Returns what a tool answers to some arguments, or `LIVE`; raises `VersioningError` to fail the run."""


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """How a run is carried out."""

    arm: str = ""
    """The arm under which it counts, in place of those of rollouts."""
    answers_tool: AnswersTool | None = None
    """Answers in place of all tools of the run."""
    asks_again: bool = True
    """Whether the libraries of providers ask again after a refusal; if not, that is for the caller."""


USUAL: Final = Conduct()


class Stop:
    """Ends what a thread waits for: from another thread, or after some seconds."""

    def __init__(self, seconds: float | None = None) -> None:
        self.within(seconds)
        self._lock = threading.Lock()
        self._waited_for: Future[Any] | None = None
        self.is_stopped = False

    def within(self, seconds: float | None) -> None:
        """Give what comes next so many seconds; None for no limit."""
        self._until = None if seconds is None else time.monotonic() + seconds

    def stop(self) -> None:
        """End what the thread waits for, now and later."""
        with self._lock:
            self.is_stopped = True
            if self._waited_for is not None:
                self._waited_for.cancel()

    def result_of(self, future: Future[Any]) -> Any:
        """Return the result of a future.

        Raises `TimeoutError` when the seconds are over, `CancelledError` if it is stopped.
        """
        with self._lock:
            self._waited_for = future
            if self.is_stopped:
                future.cancel()
        try:
            return future.result(None if self._until is None else max(0.0, self._until - time.monotonic()))
        finally:
            self._waited_for = None


class _OfThread(threading.local):
    stop: Stop | None = None


_of_thread: Final = _OfThread()


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let runs that this thread starts within the block be stopped."""
    before, _of_thread.stop = _of_thread.stop, stop
    try:
        yield
    finally:
        _of_thread.stop = before


def result_of(future: Future[Any]) -> Any:
    """Return the result of a future, unless the `Stop` of this thread ends it."""
    stop = _of_thread.stop
    return future.result() if stop is None else stop.result_of(future)
