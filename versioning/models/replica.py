"""A streaming replica of the database, to which this thread can send its reads.

It is the database `editor_replica` in Django's settings. While a thread uses it, all its queries to Django's
default database go there, by any means: query sets, prepared statements, handwritten SQL. A replica refuses
to write. The position of the log is always that of the primary.

`versioning.serving.replica_reads` decides which reads the replica answers.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

import psycopg
from django.conf import settings
from django.db import Error, connections
from django.utils import timezone

from versioning.models import events
from versioning.models.log import Event
from versioning.models.log_position import PositionQuery

ALIAS: Final = "editor_replica"


class _Query(PositionQuery):
    """Queries the replica's position; while it is lost, no request waits for it."""

    def _is_lost(self) -> bool:
        if super()._is_lost():
            return True
        if self._asked_again_at:
            threading.Thread(target=self._try, name="replica", daemon=True).start()
            return True
        return False

    def _try(self) -> None:
        with suppress(psycopg.Error), self._turn:
            self._begun += 1
            self._answer = None
            self._answer = self._read_position(connections[ALIAS])


_query: Final = _Query()


@cache
def is_configured() -> bool:
    return ALIAS in settings.DATABASES


def position() -> int | None:
    """Return the position up to which the replica has replayed the log; None if it is unavailable."""
    with suppress(Error, psycopg.Error):
        return _query.ask(connections[ALIAS])
    return None


def leave_alone() -> None:
    """Do not use the replica for a second, because it has failed."""
    _query.lose()


class ReplicaState(NamedTuple):
    """The state of the replica, for people and monitoring."""

    state: str
    """`current`, `behind` (used for reads of older data), `late` (not used) or `gone`."""
    position: int | None
    """The position up to which it has replayed the log."""
    seconds_behind: float
    """The age of the oldest entry that it lacks; 0 if it lacks none."""


def state() -> ReplicaState:
    """Return the replica's state compared with the primary; raises `django.db.Error` without a primary."""
    replayed = position()
    if replayed is None:
        return ReplicaState("gone", None, 0)
    missing = (
        Event.objects.filter(position__gt=replayed).order_by("position").values_list("created_at", flat=True)
    )
    oldest = missing.first()
    if oldest is None:
        return ReplicaState("current" if replayed >= events.position() else "behind", replayed, 0)
    seconds = max(0.0, (timezone.now() - oldest).total_seconds())
    return ReplicaState("behind" if seconds <= settings.EDITOR_REPLICA_LAG else "late", replayed, seconds)
