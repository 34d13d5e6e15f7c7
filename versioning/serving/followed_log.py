"""What has changed since when, as far as this process has followed the log.

Positions are in the order of commits. So where the log has not moved, nothing has changed; where it
has, the new entries say what, and everything else that this process holds is as right as before.

What is held depends on resources, on all resources of a kind, on what is not versioned of these, or on the
rights of API keys:

    ("agent", "writer")     ("agent", None)     all_but_drafts("agent")     RIGHTS
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, NamedTuple

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
        # Whoever follows the log further meanwhile changes the position last.
        return Moment(self._step, self._clock())

    def follow(self) -> Moment | None:
        """Follow the log to where it is, and return this moment.

        None where nobody can say, as in `log_position.position`: then nothing may be held, nor given
        out of what is.
        """
        position = self._ask()
        if position is None:
            return None
        if position == self._position:
            return Moment(self._step, self._clock())
        with self._lock:
            if self._position is not None and position < self._position:
                # Another thread has followed the log further meanwhile, or the database was restored.
                position = self._ask()
                if position is None:
                    return None
            if position != self._position:
                self._take_step(position)
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
        # Where there is no entry something has changed that nobody is told of, or it was pruned.
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
    about: set[Dependency] = {(entry.resource_kind, entry.resource_id), (entry.resource_kind, None)}
    if entry.type != f"{entry.resource_kind}.{_NEW_DRAFT}":
        about.add(all_but_drafts(entry.resource_kind))
    return about


log: Final = FollowedLog()
"""The log as this process has followed it."""
