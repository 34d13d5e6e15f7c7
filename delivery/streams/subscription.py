"""An open stream: what it wants, how far it has got, and what is still to be sent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

from delivery.streams.frames import COMMENT
from delivery.streams.listeners import Listener
from versioning.editor.event_log import EventFilter

HEARTBEAT: Final = 10.0
"""Seconds of silence after which a comment is sent."""

HEARTBEAT_OF_A_THREAD: Final = 2.0
"""The same where a thread waits: only by sending does it notice that the client has left."""

LIFETIME: Final = 600.0
"""Seconds after which a stream ends by itself."""

MAX_PENDING: Final = 256 * 1024
"""Bytes that wait for a slow client; what comes after them is read from the log when it has caught up."""


class Subscription:
    """A stream, between the thread that follows the log and the server that sends.

    It is the content of one response; how that is iterated is up to the subclasses.
    """

    heartbeat = HEARTBEAT

    def __init__(self, listener: Listener, only: EventFilter, position: int, *, has_role: bool) -> None:
        self.listener = listener
        self.only = only
        self.position = position
        """Everything up to it has been handed over, or was not wanted."""
        self.has_role = has_role
        """Whether the listener had a role when last looked at: losing the last one ends the stream."""
        self.on_start: Callable[[], object] = lambda: None
        self.on_close: Callable[[Subscription], object] = lambda _: None
        self._lock = threading.Lock()
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._ended = False
        self._last = b""
        self._notify: Callable[[], object] = lambda: None
        self._ends_at = time.monotonic() + LIFETIME

    @property
    def is_waiting(self) -> bool:
        """Whether there is something that the client has not been sent."""
        return self._pending_bytes > 0

    @property
    def is_full(self) -> bool:
        """Whether the client has to read before it is given more."""
        return self._pending_bytes >= MAX_PENDING

    def push(self, content: bytes) -> None:
        """Send this next."""
        with self._lock:
            self._pending.append(content)
            self._pending_bytes += len(content)
        self._notify()

    def end(self, last: bytes = b"") -> None:
        """End the stream, without what still waits for the client; `last` is all that it is still sent."""
        self._last = last
        self._ended = True
        self._notify()

    def close(self) -> None:
        """Note that nobody reads the stream any more."""
        self._ended = True
        self.on_close(self)

    @property
    def _is_idle(self) -> bool:
        """Whether there is nothing to do; to be asked after clearing what `_notify` sets."""
        return not self.is_waiting and not self._ended

    def _pause(self) -> float:
        """Return the seconds after which something is to be sent in any case; 0 when the stream has ended."""
        left = 0 if self._ended else self._ends_at - time.monotonic()
        return max(0, min(left, self.heartbeat))

    def _take(self) -> bytes:
        """Return what waits for the client; a comment if nothing does."""
        with self._lock:
            taken, self._pending, self._pending_bytes = self._pending, [], 0
        return b"".join(taken) or COMMENT


class AsyncSubscription(Subscription):
    """A stream that an event loop sends, so that it takes no thread."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what is to be sent."""
        ready, loop = asyncio.Event(), asyncio.get_running_loop()
        self._notify = lambda: loop.call_soon_threadsafe(ready.set)
        self.on_start()
        yield COMMENT
        while (pause := self._pause()) > 0:
            ready.clear()
            if self._is_idle:
                timer = loop.call_later(pause, ready.set)
                await ready.wait()
                timer.cancel()
            if not self._ended:
                yield self._take()
        if self._last:
            yield self._last


class BlockingSubscription(Subscription):
    """A stream that a thread sends, where the server has nothing better."""

    heartbeat = HEARTBEAT_OF_A_THREAD

    def __iter__(self) -> Iterator[bytes]:
        """Yield what is to be sent."""
        ready = threading.Event()
        self._notify = ready.set
        self.on_start()
        yield COMMENT
        while (pause := self._pause()) > 0:
            ready.clear()
            if self._is_idle:
                ready.wait(pause)
            if not self._ended:
                yield self._take()
        if self._last:
            yield self._last
