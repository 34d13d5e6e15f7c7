"""A streaming replica of the database, to which this thread can turn for what it reads.

It is the database `editor_replica` in Django's settings. While a thread has turned to it, everything that the
thread asks Django's default database goes there, from any caller and by any means: query sets, prepared
statements, SQL by hand. A replica refuses to write. The position of the log is always that of the primary.

When a read may be answered by the replica is decided in `versioning.serving.replica_reads`.
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
    """Asks the replica for its position; while it is lost, no request waits for it."""

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
    """Return how far the replica has replayed the log; None if it is gone."""
    with suppress(Error, psycopg.Error):
        return _query.ask(connections[ALIAS])
    return None


def leave_alone() -> None:
    """Do not use the replica for a second, because it has failed."""
    _query.lose()


class State(NamedTuple):
    """How the replica is, for people and monitoring."""

    state: str
    """`current`, `behind` (it is used for what has not changed since), `late` (it is not) or `gone`."""
    position: int | None
    """How far it has replayed the log."""
    seconds_behind: float
    """The age of the oldest entry that it lacks; 0 if it lacks none."""


def state() -> State:
    """Return how the replica is, compared with the primary; raises `django.db.Error` if that is away."""
    found = position()
    if found is None:
        return State("gone", None, 0)
    missing = (
        Event.objects.filter(position__gt=found).order_by("position").values_list("created_at", flat=True)
    )
    oldest = missing.first()
    if oldest is None:
        return State("current" if found >= events.position() else "behind", found, 0)
    seconds = max(0.0, (timezone.now() - oldest).total_seconds())
    return State("behind" if seconds <= settings.EDITOR_REPLICA_LAG else "late", found, seconds)
