"""Tracks changes, as far as this process has followed the log.

Positions are in the order of commits. So if the log has not moved, nothing has changed; if it has, the new
entries name the changes, and everything else that this process has cached is still valid.

A cached value depends on resources, on all resources of a kind, on their unversioned data, or on the rights
of API keys:

    ("agent", "writer")     ("agent", None)     all_but_drafts("agent")     RIGHTS

A type of event is also a dependency: `("pilot", None)` stands for events like `pilot.ended`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

from django.db import connection, transaction

from versioning.domain.errors import VersioningError
from versioning.models import log_position
from versioning.models.events import Change, changes

Dependency = tuple[str, str | None]
"""A kind of resource and an id; None for the id stands for every resource of the kind."""

RIGHTS: Final[Dependency] = ("rights", None)
"""The rights of a key, and whether it is usable."""

HOLD_SECONDS: Final = 60.0
"""The maximum age of cached values: manual SQL and bulk updates change rows without a log entry."""

ATTEMPTS: Final = 3
"""How often to read something before a transaction is opened, so that all of it is of one moment."""

_MAX_ENTRIES: Final = 1000
_MAX_CHANGES: Final = 10_000
_MAX_STEPS: Final = 1000
_SUBJECTS_OF_RIGHTS: Final = frozenset({"member", "key"})
_NEW_DRAFT: Final = "versionCreated"

T = TypeVar("T")


def all_but_drafts(kind_slug: str) -> Dependency:
    """Return the dependency on all resources of a kind, except for their newest versions.

    The most frequent change is saving a draft, which changes neither metadata nor labels nor the live
    version.
    """
    return f"{kind_slug} but drafts", None


class Moment(NamedTuple):
    """A moment up to which this process had followed the log."""

    step: int
    """How many steps this process had taken; unlike positions, they increase when a database is restored."""
    time: float
    """The seconds of the clock."""


class _Step(NamedTuple):
    position: int
    moment: Moment


class FollowedLog:
    """The progress of this process along the log, for all its threads."""

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
        self._steps: deque[_Step] = deque(maxlen=_MAX_STEPS)
        """The latest steps, in order."""

    def look(self) -> Moment | None:
        """Return the current moment if the process is up to date with the log, otherwise None.

        This is the only statement of a request whose answer is cached.
        """
        position = self._ask()
        if position is None or position != self._position:
            return None
        # A thread that follows the log further in the meantime changes the position last.
        return self.current_moment

    def follow(self) -> Moment | None:
        """Follow the log to its end, and return the current moment.

        Returns None if the position is unknown, as in `log_position.position`: then nothing may be cached,
        and no cached value used.
        """
        position = self._ask()
        if position is None:
            return None
        if position == self._position:
            return self.current_moment
        with self._lock:
            if self._position is not None and position < self._position:
                # Another thread has followed the log further in the meantime, or the database was restored.
                position = self._ask()
                if position is None:
                    return None
            if position != self._position:
                self._take_step(position)
            return self.current_moment

    @property
    def current_moment(self) -> Moment:
        """The moment up to which this process has followed the log; no database access."""
        return Moment(self._step, self._clock())

    def moment_at(self, position: int, seconds: float) -> Moment | None:
        """Return the moment at which this process had followed the log to a position of another server.

        Returns None if that is too long ago to be known, or if that server lacks an entry that this process
        has known for longer than these seconds.
        """
        with self._lock:
            now, after = self.current_moment, None
            if self._position is not None and position >= self._position:
                return now
            for step in reversed(self._steps):
                if after is not None and now.time - after.moment.time > seconds:
                    return None
                if step.position <= position:
                    return Moment(step.moment.step, now.time)
                after = step
        return None

    def is_right(self, moment: Moment, dependencies: Iterable[Dependency], now: Moment) -> bool:
        """Return whether a value read at `moment`, or later, is still valid at `now`."""
        # The order matters: changes are dropped only after everything has been marked as changed.
        changed = self._changed
        if moment.step < self._all_changed or now.time - moment.time >= HOLD_SECONDS:
            return False
        return all(changed.get(dependency, 0) <= moment.step for dependency in dependencies)

    def forget(self) -> None:
        """Mark everything as changed."""
        with self._lock:
            self._position = None
            self._all_changed = self._step = self._step + 1
            self._steps.clear()

    def _take_step(self, position: int) -> None:
        step, now = self._step, self._clock()
        if self._position is not None and position < self._position:
            self._steps.clear()
        changed = self._changes_until(position)
        if changed is None or len(self._changed) + sum(map(len, changed.values())) > _MAX_CHANGES:
            self._all_changed = step = step + 1
            self._changed = {}
            self._steps.append(_Step(position, Moment(step, now)))
        else:
            for entry_position, dependencies in changed.items():  # in the order of positions
                step += 1
                self._changed.update(dict.fromkeys(dependencies, step))
                self._steps.append(_Step(entry_position, Moment(step, now)))
        self._step = step
        self._position = position

    def _changes_until(self, position: int) -> dict[int, set[Dependency]] | None:
        """Return the resources of the entries up to the position, by position; None if unknown."""
        before = self._position
        if before is None or not before < position <= before + _MAX_ENTRIES:
            return None
        with log_position.primary():
            entries = self._read(before, position, _MAX_CHANGES)
        changed: dict[int, set[Dependency]] = {}
        for entry in entries:
            about = _dependencies_on(entry)
            if about is None:
                return None
            changed.setdefault(entry.position, set()).update(about)
        # A position without an entry is a change that is not recorded, or was pruned.
        return changed if len(entries) < _MAX_CHANGES and len(changed) == position - before else None


def _dependencies_on(entry: Change) -> set[Dependency] | None:
    """Return the dependencies that an entry invalidates; None for everything."""
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
"""The log as followed by this process."""


class FollowedValue(Generic[T]):
    """A value read from the database, and cached until the log reports a change.

    Reading it costs no statement, because every read follows the log first. Inside a transaction, which may
    see its own changes, it is read every time.
    """

    def __init__(self, read: Callable[[], T], *dependencies: Dependency, followed: FollowedLog = log) -> None:
        self._read = read
        self._dependencies = dependencies
        self._log = followed
        self._cached: tuple[Moment, T] | None = None

    def get(self) -> T:
        if connection.in_atomic_block:
            return self._read_now()
        now, cached = self._log.current_moment, self._cached
        if cached is None or not self._log.is_right(cached[0], self._dependencies, now):
            cached = self._cached = now, self._read_now()
        return cached[1]

    def _read_now(self) -> T:
        with log_position.primary():
            return self._read()


def consistently(
    read: Callable[[], T], about: Callable[[T], Iterable[Dependency]], *, followed: FollowedLog = log
) -> T:
    """Return the result of `read`, with everything in it read as of one moment.

    A release publishes an agent and its blocks in one transaction, and each statement sees everything
    committed before it. A read of the agent before that commit and of a block after it would serve half of
    the release. A transaction around every read would prevent that with two round trips. The log needs one:
    if no dependency was committed since this process last followed the log, all statements have seen the same
    state.

    `read` may be called several times. `about` returns the dependencies of its result; an error depends on
    everything. Within a transaction of the caller, `read` is called once.
    """
    if connection.in_atomic_block:
        return read()
    for _ in range(ATTEMPTS):
        begun = followed.current_moment
        try:
            result = read()
        except VersioningError:
            ended = followed.follow()
            if ended is not None and ended.step == begun.step:
                raise
        else:
            ended = followed.follow()
            if ended is not None and followed.is_right(begun, about(result), ended):
                return result
        if ended is None:  # changes in the meantime are unknown
            break
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return read()
