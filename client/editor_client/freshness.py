"""Which cached answers are as the server would give them now, by what has been heard of the log.

An answer is fresh if it was asked for while the log was being followed and no event since then concerns it.
An event concerns what is cached of its resource, and every agent that shows the block it is about; an event
without a resource, or of a kind that is not known here, concerns everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from editor_client.cache import Entry
from editor_client.calls import Resource
from editor_client.kinds import SEGMENTS
from editor_client.log import LogEvent

MAX_RESOURCES = 10_000
TRUSTED_SECONDS = 600.0
"""After which an answer is confirmed although nothing was heard: no event tells a key of rights that it has
lost. A stream ends after as long."""

NEVER = float("-inf")


class Freshness:
    """What has been heard. Reading it takes no lock; changing it does."""

    def __init__(self, clock: Callable[[], float], number: Callable[[], int]) -> None:
        """Take a clock of monotonic seconds, and the source of the numbers that tickets have."""
        self._clock = clock
        self._number = number
        self._until = NEVER
        self._all = number()
        self._of: dict[Resource, int] = {}
        self._lock = Lock()

    def after_fork(self) -> None:
        """Start afresh in a forked process, which does not listen yet."""
        self._until = NEVER
        self._lock = Lock()

    def until(self, moment: float) -> None:
        """Note the time until which nothing is missed although nothing more is heard."""
        self._until = moment

    def begin(self) -> None:
        """Note that the log is followed from now on: answers from before may be old."""
        with self._lock:
            self._outdate_all()

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Note what has changed, in one step for all readers."""
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
                # In one step, so that a reader takes all of a release for old, or nothing.
                self._of = {**self._of, **changed}

    def covers(self, entry: Entry) -> bool:
        """Say whether an answer is fresh."""
        # Read first: single changes are dropped only after everything has been outdated.
        changed = self._of
        now, asked = self._clock(), entry.ticket.number
        if now >= self._until or asked <= self._all or now - entry.ticket.time >= TRUSTED_SECONDS:
            return False
        return all(changed.get(one, -1) < asked for one in entry.concerns)

    def _outdate_all(self) -> None:
        self._all = self._number()
        self._of = {}
