"""Answers the API's reads from a replica if that gives the same answer as the primary.

The replica may be behind. But this process follows the log on the primary, so it knows the changes since the
replica's position. An answer from the replica is valid if none of its dependencies is among them, like a
cached answer; otherwise it is made again on the primary. So no caller reads data older than the primary's, in
any process: not after their own writes, and not after an event from `/events`.

A view declares the dependencies of its answer (`EditorViewSet.depends_on`), which switches it to the replica;
rights have been read by then. A view without declared dependencies reads from the primary.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from django.conf import settings
from django.db import Error

from versioning.domain import telemetry
from versioning.models import log_position, replica
from versioning.serving.followed_log import Dependency, Moment, log

T = TypeVar("T")


class _Attempt:
    """One attempt to make an answer on the replica."""

    def __init__(self) -> None:
        self._dependencies: set[Dependency] = set()
        self._is_begun = False
        self._position = 0
        self._arrived = log.current_moment
        self._since: Moment | None = None
        """The moment that the replica had reached; None while the answer is made on the primary."""

    @property
    def is_on_replica(self) -> bool:
        return self._since is not None

    def depends_on(self, *dependencies: Dependency) -> None:
        self._dependencies.update(dependencies)
        if self._is_begun:
            return
        self._is_begun = True
        position = replica.position()
        since = None if position is None else log.moment_at(position, settings.EDITOR_REPLICA_LAG)
        self._arrived = log.current_moment
        if position is not None and since is not None and log.is_right(since, dependencies, self._arrived):
            self._position, self._since = position, since
            log_position.turn_to(replica.ALIAS)

    def is_right(self, *, of_all: bool = False) -> bool:
        """Return whether no dependency of the answer had changed since; with `of_all`, nothing at all.

        The replica advances while it is read. Entries that it replayed meanwhile may be visible in part, so
        they count as changes.
        """
        if self._since is None:
            return True
        now: Moment | None = self._arrived
        position = replica.position()
        if position is None:
            return False
        if position != self._position:
            now = log.follow()
            if now is None or log.moment_at(position, 0) is None:
                return False
        if now is None or (of_all and now.step != self._since.step):
            return False
        return log.is_right(self._since, self._dependencies, now)


class _Own(threading.local):
    attempt: _Attempt | None = None


_own: Final = _Own()


def depends_on(*dependencies: Dependency) -> None:
    """Declare the dependencies of the answer, whose further reads use the replica if possible."""
    if _own.attempt is not None:
        _own.attempt.depends_on(*dependencies)


def read(make: Callable[[], T]) -> T:
    """Return the result of `make`, which calls `depends_on`, or raise its error, as on the primary.

    It is called a second time if its reads from the replica turn out to be outdated.
    """
    if not replica.is_configured():
        return make()
    attempt = _own.attempt = _Attempt()
    try:
        result = make()
        is_right = attempt.is_right()
    except Exception as error:
        if not attempt.is_on_replica:
            raise
        if isinstance(error, Error):
            replica.leave_alone()
        elif attempt.is_right(of_all=True):  # a missing resource depends on everything
            _count("replica")
            raise
        is_right = False
    finally:
        _own.attempt = None
        log_position.turn_back()
    if is_right:
        _count("replica" if attempt.is_on_replica else "primary")
        return result
    _count("primary")
    return make()


def _count(database: str) -> None:
    telemetry.count("editor_reads_total", database=database)
