"""What has changed since when, as far as this process has followed the log.

Positions are in the order of commits. So where the log has not moved, nothing has changed; where it
has, the new entries say what, and everything else that this process holds is as right as before.

What is held depends on resources, on all resources of a kind, on what is not versioned of these, or on the
rights of API keys:

    ("agent", "writer")     ("agent", None)     all_but_drafts("agent")     RIGHTS

A type of event is a dependency, too: `("pilot", None)` is what events like `pilot.ended` tell of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

from django.db import connection

from versioning.models import log_position
from versioning.models.events import Change, changes

Dependency = tuple[str, str | None]
"""A kind of resource and an id; None for the id stands for every resource of the kind."""

RIGHTS: Final[Dependency] = ("rights", None)
"""What a key may do, and whether it opens anything."""

HOLD_SECONDS: Final = 60.0
"""How long anything is held: SQL by hand and bulk updates change things without a word in the log."""

_MAX_ENTRIES: Final = 1000
_MAX_CHANGES: Final = 10_000
_SUBJECTS_OF_RIGHTS: Final = frozenset({"member", "key"})
_NEW_DRAFT: Final = "versionCreated"

T = TypeVar("T")


def all_but_drafts(kind_slug: str) -> Dependency:
    """Return the dependency on everything about all resources of a kind but their newest versions.

    What people do most is to save drafts, and those change neither metadata nor labels, nor what is live.
    """
    return f"{kind_slug} but drafts", None


class Moment(NamedTuple):
    """A moment at which this process had followed the log to where it was."""

    step: int
    """How many steps this process had taken; unlike positions they rise when a database is restored, too."""
    time: float
    """The seconds of the clock."""


class FollowedLog:
    """How far this process has followed the log, for all of its threads."""

    def __init__(
        self,
        position: Callable[[], int | None] = log_position.position,
        read: Callable[[int, int, int], Sequence[Change]] = changes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = position
        self._read = read
        self._lock = Lock()
        self._position: int | None = None
        self._step = 0
        self._changed: dict[Dependency, int] = {}
        self._all_changed = 0
        self._clock = clock

    def look(self) -> Moment | None:
        """Return this moment, if the process has followed the log to where it is; else None.

        That is the one statement of a request whose answer is cached.
        """
        position = self._ask()
        if position is None or position != self._position:
            return None
        # A thread that follows the log further meanwhile changes the position last.
        return self.reached

    def follow(self) -> Moment | None:
        """Follow the log to where it is, and return this moment.

        None where it cannot be told, as in `log_position.position`: then nothing may be held, nor given
        out of what is.
        """
        position = self._ask()
        if position is None:
            return None
        if position == self._position:
            return self.reached
        with self._lock:
            if self._position is not None and position < self._position:
                # Another thread has followed the log further meanwhile, or the database was restored.
                position = self._ask()
                if position is None:
                    return None
            if position != self._position:
                self._take_step(position)
            return self.reached

    @property
    def reached(self) -> Moment:
        """The moment to which this process has followed the log; asks the database for nothing."""
        return Moment(self._step, self._clock())

    def is_right(self, made: Moment, dependencies: Iterable[Dependency], now: Moment) -> bool:
        """Say whether what was made of the state of a moment, or of a later one, is right at another."""
        # In this order: the changes are thrown away only after everything has been said to have changed.
        changed = self._changed
        if made.step < self._all_changed or now.time - made.time >= HOLD_SECONDS:
            return False
        return all(changed.get(one, 0) <= made.step for one in dependencies)

    def forget(self) -> None:
        """Take everything for changed."""
        with self._lock:
            self._position = None
            self._all_changed = self._step = self._step + 1

    def _take_step(self, position: int) -> None:
        step = self._step + 1
        changed = self._changes_until(position)
        if changed is None or len(self._changed) + len(changed) > _MAX_CHANGES:
            self._all_changed = step
            self._changed = {}
        else:
            self._changed.update(dict.fromkeys(changed, step))
        self._step = step
        self._position = position

    def _changes_until(self, position: int) -> set[Dependency] | None:
        """Return what the entries up to the position are about; None where that can be anything."""
        before = self._position
        if before is None or not before < position <= before + _MAX_ENTRIES:
            return None
        found = self._read(before, position, _MAX_CHANGES)
        # Where there is no entry something has changed that is not recorded, or it was pruned.
        if len(found) == _MAX_CHANGES or len({one.position for one in found}) != position - before:
            return None
        changed: set[Dependency] = set()
        for entry in found:
            about = _dependencies_on(entry)
            if about is None:
                return None
            changed |= about
        return changed


def _dependencies_on(entry: Change) -> set[Dependency] | None:
    """Return what depends on what an entry is about; None for everything."""
    if entry.type.partition(".")[0] in _SUBJECTS_OF_RIGHTS:
        return {RIGHTS}
    if not entry.resource_kind:
        return None
    kind, subject = entry.resource_kind, entry.type.partition(".")[0]
    about: set[Dependency] = {(kind, entry.resource_id), (kind, None), (subject, None)}
    if entry.type != f"{kind}.{_NEW_DRAFT}":
        about.add(all_but_drafts(kind))
    return about


log: Final = FollowedLog()
"""The log as this process has followed it."""


class FollowedValue(Generic[T]):
    """A value that is read from the database, and held until the log tells of a change.

    Asking for it costs no statement, because every read follows the log before it reads anything else. Inside
    a transaction, which may see changes of its own, it is read whenever it is asked for.
    """

    def __init__(self, read: Callable[[], T], *dependencies: Dependency, followed: FollowedLog = log) -> None:
        self._read = read
        self._dependencies = dependencies
        self._log = followed
        self._held: tuple[Moment, T] | None = None

    def get(self) -> T:
        """Return the value."""
        if connection.in_atomic_block:
            return self._read()
        now, held = self._log.reached, self._held
        if held is None or not self._log.is_right(held[0], self._dependencies, now):
            held = self._held = now, self._read()
        return held[1]
