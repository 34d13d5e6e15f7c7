"""The thread that follows the log for all open streams of a process."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.db import Error, close_old_connections, connections

from capabilities.delivery.streams.fan_out import DatabaseSilent, FanOut, end_all
from capabilities.delivery.streams.subscription import Subscription
from versioning.domain import telemetry
from versioning.domain.errors import VersioningError

LOOK_EVERY: Final = 0.25
"""Seconds between two checks of the log."""

PAUSE: Final = 0.05
"""Seconds between two turns while a stream is behind, in which other threads run."""

LOST_AFTER: Final = 5.0
"""Streams end after this many seconds without an answer of the database, since they may miss events."""

logger = logging.getLogger(__name__)


SHARE: Final = 10
"""A person may hold at most one in so many streams of a process, so that others get some."""


class TooManyStreams(VersioningError):
    """The process or the person has reached the maximum number of open streams."""

    code = "too_many_streams"

    def __init__(self, *, is_yours: bool = False) -> None:
        whose = "You hold as many streams as one person may" if is_yours else "Too many streams are open"
        super().__init__(f"{whose}. Try again later, or ask GET /events meanwhile.")
        self.is_yours = is_yours

    def details(self) -> dict[str, Any]:
        """Return whether only the caller has too many streams, so that other callers still get one."""
        return {"detail": "yours"} if self.is_yours else {}


class Follower:
    """The open streams, and a thread that feeds them while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Weak, so that a stream ends with a response that is discarded unsent.
        self._open: WeakKeyDictionary[Subscription, object] = WeakKeyDictionary()
        self._thread: threading.Thread | None = None

    def add(self, subscription: Subscription, limit: int, *, person: object) -> None:
        """Add a stream, which gets events once it is read.

        Raises `TooManyStreams` if `limit` streams are open, or if a tenth of that, but at least one, belong
        to this person, who is signed in or owns the API key.
        """
        with self._lock:
            if len(self._open) >= limit:
                raise TooManyStreams
            if sum(one == person for one in self._open.values()) >= max(1, limit // SHARE):
                raise TooManyStreams(is_yours=True)
            self._open[subscription] = person
            self._measure()
        subscription.on_start, subscription.on_close = self._start, self._remove

    def _start(self) -> None:
        """Make sure that the thread runs when a stream is first read."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads
                self._thread = threading.Thread(target=self._follow, name="streams", daemon=True)
                self._thread.start()

    def _remove(self, subscription: Subscription) -> None:
        with self._lock:
            self._open.pop(subscription, None)
            self._measure()

    def _measure(self) -> None:
        telemetry.level("editor_streams_open", len(self._open))

    def _follow(self) -> None:
        """Take turns until no stream is open."""
        fan_out = FanOut()
        answered = time.monotonic()
        while streams := self._streams():
            began = time.monotonic()
            is_behind = False
            try:
                try:
                    is_behind = fan_out.turn(streams)
                finally:
                    close_old_connections()
                answered = time.monotonic()
            except (DatabaseSilent, Error) as error:
                if time.monotonic() - answered > LOST_AFTER:
                    logger.warning("streams end, because the database does not answer", exc_info=error)
                    end_all(streams)
            except Exception:
                logger.exception("streams end")
                end_all(streams)
            took = time.monotonic() - began
            time.sleep(PAUSE if is_behind else max(PAUSE, LOOK_EVERY - took))
        connections.close_all()

    def _streams(self) -> list[Subscription]:
        """Return the open streams; if there are none, the thread ends."""
        with self._lock:
            if not self._open:
                self._thread = None
            return list(self._open)


follower: Final = Follower()
"""The follower of this process."""
