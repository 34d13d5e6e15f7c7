"""An open stream of server-sent events: its filter, its position, and its pending bytes.

A client resumes after the last `id` that it has received. Entries that share a position are sent together,
and only the last of them has the `id`: a client that loses the connection between them gets all of them
again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from capabilities.delivery.streams.listeners import Listener
from versioning.api.errors import error_body
from versioning.api.schemas import CompactJSONRenderer, EventAnswer
from versioning.domain.errors import VersioningError
from versioning.editor.event_log import EventFilter
from versioning.models import Event

COMMENT: Final = b": nothing new\n\n"
"""Keeps the connection alive."""


def last_words(error: VersioningError) -> bytes:
    """Return the event `error` that ends a stream; its data is the body of an error."""
    return b"event: error\ndata: %s\n\n" % CompactJSONRenderer().render(error_body(error))


class Frames:
    """The text of each event, rendered once for all streams that get it."""

    def __init__(self) -> None:
        self._data: dict[int, bytes] = {}

    def of(self, events: Sequence[Event]) -> bytes:
        """Return the events as they are sent; they are in order and include all that share a position."""
        frames = []
        for position, together in groupby(events, key=attrgetter("position")):
            *others, last = together
            frames += [*map(self._text, others), b"id: %d\n" % position, self._text(last)]
        return b"".join(frames)

    def _text(self, event: Event) -> bytes:
        text = self._data.get(event.pk)
        if text is None:
            # JSON has no line break in it, so the data is one line.
            text = b"data: %s\n\n" % CompactJSONRenderer().render(EventAnswer.dump(event))
            self._data[event.pk] = text
        return text


HEARTBEAT: Final = 10.0
"""Seconds without events after which a comment is sent."""

HEARTBEAT_OF_A_THREAD: Final = 2.0
"""The same for a stream in a thread, which notices only by sending that the client has left."""

LIFETIME: Final = 600.0
"""Seconds after which a stream ends by itself."""

MAX_PENDING: Final = 256 * 1024
"""The maximum bytes that wait for a slow client; later events are read from the log when it catches up."""


class Subscription:
    """A stream, shared by the thread that follows the log and the server that sends.

    It is the content of one response; subclasses define how that is iterated.
    """

    heartbeat = HEARTBEAT

    def __init__(
        self, listener: Listener, only: EventFilter, position: int, epoch: str, *, has_role: bool
    ) -> None:
        self.listener = listener
        self.only = only
        self.position = position
        """Everything up to it was distributed, or did not match the filter."""
        self.epoch = epoch
        """The epoch of the log when the stream began."""
        self.has_role = has_role
        """Whether the listener had a role when last checked: losing the last one ends the stream."""
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
        """Whether there are events that were not sent yet."""
        return self._pending_bytes > 0

    @property
    def is_full(self) -> bool:
        """Whether the client must read before it gets more."""
        return self._pending_bytes >= MAX_PENDING

    def push(self, content: bytes) -> None:
        """Append bytes to send."""
        with self._lock:
            self._pending.append(content)
            self._pending_bytes += len(content)
        self._notify()

    def end(self, last: bytes = b"") -> None:
        """End the stream: send only `last`, discarding pending bytes."""
        self._last = last
        self._ended = True
        self._notify()

    def close(self) -> None:
        """Mark the response as ended."""
        self._ended = True
        self.on_close(self)

    @property
    def _is_idle(self) -> bool:
        """Whether there is nothing to do; read it after clearing what `_notify` sets."""
        return not self.is_waiting and not self._ended

    def _pause(self) -> float:
        """Return the seconds until the next heartbeat; 0 if the stream has ended."""
        left = 0 if self._ended else self._ends_at - time.monotonic()
        return max(0, min(left, self.heartbeat))

    def _take(self) -> bytes:
        """Return the pending bytes; a comment if there are none."""
        with self._lock:
            taken, self._pending, self._pending_bytes = self._pending, [], 0
        return b"".join(taken) or COMMENT


class AsyncSubscription(Subscription):
    """A stream that an event loop sends, so that it takes no thread."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes to send."""
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
    """A stream that a thread sends, for servers without an event loop."""

    heartbeat = HEARTBEAT_OF_A_THREAD

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes to send."""
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
