"""Which cached answers are current, according to the events read from the log.

An answer is fresh if it was requested while the log was being followed and no event since then concerns it.
An event concerns the cached answers about its resource, and every agent that shows the block; an event
without a resource, or of an unknown kind, concerns everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from editor_client.calls import SEGMENTS, Resource
from editor_client.reads.cache import Entry
from editor_client.reads.log import LogEvent

MAX_RESOURCES = 10_000
TRUSTED_SECONDS = 600.0
"""After which an answer is confirmed although nothing was heard: no event tells a key of rights that it has
lost. A stream ends after as long."""

NEVER = float("-inf")


class Freshness:
    """The events so far. Reading takes no lock; changing does."""

    def __init__(self, clock: Callable[[], float], number: Callable[[], int]) -> None:
        """Take a clock of monotonic seconds, and the source of the numbers that tickets have."""
        self._clock = clock
        self._number = number
        self._until = NEVER
        self._all = number()
        self._of: dict[Resource, int] = {}
        self._lock = Lock()

    def after_fork(self) -> None:
        """Start over in a forked process, which does not listen yet."""
        self._until = NEVER
        self._lock = Lock()

    def until(self, moment: float) -> None:
        """Set the time until which no event is missed without hearing more."""
        self._until = moment

    def begin(self) -> None:
        """Record that the log is followed from now on: earlier answers may be outdated."""
        with self._lock:
            self._outdate_all()

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Record changes, in one step for all readers."""
        with self._lock:
            changed: dict[Resource, int] = {}
            is_known = True
            for event in events:
                kind = SEGMENTS.get(event.resource.kind) if event.resource else None
                is_known = is_known and kind is not None
                if event.resource is not None and kind is not None:
                    changed[Resource(kind, event.resource.id)] = self._number()
            if not is_known or len(self._of) + len(changed) > MAX_RESOURCES:
                self._outdate_all()
            elif changed:
                # In one step, so that a reader sees all of a release as outdated, or nothing.
                self._of = {**self._of, **changed}

    def covers(self, entry: Entry) -> bool:
        """Return whether an answer is fresh."""
        # Read first: single changes are dropped only after everything has been marked outdated.
        changed = self._of
        now, asked = self._clock(), entry.ticket.number
        if now >= self._until or asked <= self._all or now - entry.ticket.time >= TRUSTED_SECONDS:
            return False
        return all(changed.get(concern, -1) < asked for concern in entry.concerns)

    def _outdate_all(self) -> None:
        self._all = self._number()
        self._of = {}
