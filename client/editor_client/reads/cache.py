"""The cached answers, by whom they are held for, resource and selector.

Several threads share a cache. Reading it takes no lock; changing it does. `editor_client.reads.disk` stores
the answers for the time after a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from editor_client.calls import Answer, Query, Resource
from editor_client.reads.rights import Scope

MAX_ENTRIES = 1000


class Key(NamedTuple):
    """Identifies what an answer is about."""

    scope: Scope
    resource: Resource
    path: str
    selector: Query


class Ticket(NamedTuple):
    """The time of a request: an answer never replaces the answer to a later request."""

    number: int
    time: float
    changes: int
    """How many changes this client had made before."""


OLDEST = Ticket(number=-1, time=float("-inf"), changes=-1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A good answer, and the time of its request."""

    ticket: Ticket
    answer: Answer
    value: Any
    """The content of the answer, parsed once for all readers."""
    stored: float = float("-inf")
    """When it was last written to the disk."""
    concerns: tuple[Resource, ...] = ()
    """The resources in it: an event about any of them makes it stale."""
    unconfirmed: bool = False
    """Whether the latest request for it got no answer."""


class Cache:
    """The cache in memory; `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # A ticket without an answer belongs to a refusal.
        self._entries: OrderedDict[Key, Entry | Ticket] = OrderedDict()
        self._numbers = count()
        self._changes = 0
        self._barrier = -1
        self._refreshing: set[Key] = set()
        self._lock = Lock()

    def after_fork(self) -> None:
        """Continue in a forked process: the answers stay, but other threads are gone."""
        self._lock = Lock()
        self._refreshing = set()

    def ticket(self) -> Ticket:
        """Return a ticket for a request that is sent now."""
        return Ticket(next(self._numbers), self._clock(), self._changes)

    def number(self) -> int:
        """Return the number that a ticket would have now."""
        return next(self._numbers)

    def changed_since(self, entry: Entry) -> bool:
        """Return whether this client has changed something since the request for the answer."""
        return entry.ticket.changes != self._changes

    def get(self, key: Key) -> Entry | None:
        """Return the cached answer; None if there is none."""
        found = self._entries.get(key)
        return found if isinstance(found, Entry) else None

    def knows(self, key: Key) -> bool:
        """Return whether there is an entry, even if the last answer was a refusal."""
        return key in self._entries

    def age(self, entry: Entry) -> float:
        """Return the seconds since the server confirmed it; infinite after a change by this client."""
        if self.changed_since(entry):
            return float("inf")
        return self._clock() - entry.ticket.time

    def put(self, key: Key, entry: Entry) -> bool:
        """Cache an answer unless a later request has been answered; return whether it was cached."""
        return self._set(key, entry, entry.ticket)

    def refuse(self, key: Key, ticket: Ticket) -> None:
        """Remove an answer because the server says that it does not exist or is not for this key."""
        self._set(key, ticket, ticket)

    def changed(self) -> None:
        """Treat all cached answers as stale, because this client changed something."""
        with self._lock:
            self._changes += 1

    def forget(self, resource: Resource | None = None) -> None:
        """Remove everything, or everything about one resource, including pending answers."""
        with self._lock:
            self._barrier = next(self._numbers)
            for key in [key for key in self._entries if resource in {None, key.resource}]:
                del self._entries[key]

    def begin_refresh(self, key: Key) -> bool:
        """Return whether the caller should refresh this entry, and then call `end_refresh`."""
        with self._lock:
            if key in self._refreshing:
                return False
            self._refreshing.add(key)
            return True

    def end_refresh(self, key: Key) -> None:
        """Allow others to refresh the entry again."""
        with self._lock:
            self._refreshing.discard(key)

    def _set(self, key: Key, entry: Entry | Ticket, ticket: Ticket) -> bool:
        with self._lock:
            cached = self._entries.get(key, OLDEST)
            latest = cached.ticket if isinstance(cached, Entry) else cached
            if ticket.number < latest.number or ticket.number < self._barrier:
                return False
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
            return True
