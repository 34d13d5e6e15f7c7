"""Work that is due at some time, leased to one worker at a time.

An application with work to do later adds its own table:

    class Delivery(DueWork):
        webhook = models.ForeignKey(Webhook, …)

`due_at` says when a row is due; None means never (again). A worker leases due rows and reports the result of
each: done, or due again. Leases expire, so the rows of a killed worker soon become available. Work on a row
is completed under its lease, so it is completed once.

If rows have owners, such as workspaces, the owners take turns: see `Turns`.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Any, Final, Self, TypeVar

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

LEASE_SECONDS: Final = 45
"""How long a lease lasts unless it is renewed, and so how long a killed worker holds its rows."""
MAX_LOOKUPS: Final = 8
"""How many owners a worker tries, if other workers are faster, before it queries the due owners again."""
W = TypeVar("W", bound="DueWork")
Owner = tuple[Any, ...]
"""The owner of due work: a workspace, and perhaps a receiver within it. `()` if there is no owner."""


class LeaseLost(Exception):
    """The lease expired before the work was completed, and the row belongs to another worker."""


class Turns:
    """Fair shares of a worker's places among the owners of due work.

    The owner with the fewest places comes next and, among equals, the one whose last turn was longest ago;
    first among the workspaces, then among the owners within each. A workspace takes another place only while
    more places are free than it holds. So one workspace leaves half of the places free, two leave a third,
    and a newcomer finds one until as many workspaces as places are active. A worker decides by its own places
    only, without other workers: each leaves places free.
    """

    def __init__(self, places: int = 1) -> None:
        self._places = places
        self._held: Counter[Owner] = Counter()
        self._latest: dict[Owner, int] = {}
        """The number of the latest turn of each owner that holds a place or has had due work since."""
        self._number = 0
        self._lock = Lock()

    def in_order(self, due: Iterable[Owner]) -> list[Owner]:
        """Return the owners that may take a place now, next first; `due` are all owners with due work.

        Owners with equal precedence keep the given order.
        """
        due = list(due)
        with self._lock:
            levels = {level for owner in due for level in _levels(owner)}
            self._latest = {
                level: number
                for level, number in self._latest.items()
                if level in levels or self._held[level]
            }
            free = self._places - self._held[()]
            may = [owner for owner in due if not owner or self._held[owner[:1]] < free]
            return sorted(
                may,
                key=lambda owner: [
                    (self._held[level], self._latest.get(level, 0)) for level in _levels(owner)
                ],
            )

    def begin(self, owner: Owner) -> None:
        with self._lock:
            self._number += 1
            self._held.update(_levels(owner))
            self._latest.update(dict.fromkeys(_levels(owner), self._number))

    def end(self, owner: Owner) -> None:
        with self._lock:
            self._held -= Counter(_levels(owner))


def _levels(owner: Owner) -> list[Owner]:
    """Return the levels of an owner: everything, the workspace, and its parts."""
    return [owner[:length] for length in range(len(owner) + 1)]


class DueWorkQuerySet(models.QuerySet[W]):
    """Rows of work and their leases. All times are by the clock of the database."""

    def due(self) -> Self:
        """Return the rows that are due and not leased, in the order in which they became due."""
        return self.filter(_free(), due_at__lte=Now()).order_by("due_at", "pk")

    def owners(self) -> Iterable[Owner]:
        """Return the owners of due rows, in the order in which they became due."""
        return [()]

    def lease(self, limit: int, *, by: str, turns: Turns | None = None) -> list[W]:
        """Lease at most `limit` due rows of the next owner and return them; concurrent callers get others.

        `by` names the worker and its thread. The rows take one place of `turns`, until `Turns.end` is called
        for their `leased_for`. No worker waits: PostgreSQL skips rows that another worker is leasing, and
        SQLite allows one write at a time.
        """
        if not self.due().exists():  # reading takes no lock, and usually nothing is due
            return []
        turns = turns or Turns()
        for owner in turns.in_order(self.owners())[:MAX_LOOKUPS]:
            rows = self.lease_of(owner, limit, by=by)
            if rows:
                turns.begin(owner)
                for row in rows:
                    row.leased_for = owner
                return rows
        return []

    def lease_of(self, owner: Owner, limit: int, *, by: str) -> list[W]:
        """Lease at most `limit` due rows of an owner; subclasses with owners narrow the query."""
        with transaction.atomic(using=self.db):
            rows = list(self.due().select_for_update(skip_locked=True)[:limit])
            mine = self.filter(_free(), pk__in=[row.pk for row in rows])
            until = Now() + timedelta(seconds=LEASE_SECONDS)
            leased = mine.update(leased_by=by, leased_until=until, attempts=F("attempts") + 1)
            if leased != len(rows):  # needed only if SQLite transactions do not begin with a lock
                transaction.set_rollback(True, using=self.db)
                return []
        for row in rows:
            row.leased_by, row.attempts = by, row.attempts + 1
        return rows

    def renew(self, rows: Iterable[W]) -> None:
        """Extend the valid leases among these rows."""
        self._filter_valid_leases(rows).update(leased_until=Now() + timedelta(seconds=LEASE_SECONDS))

    def release(self, rows: Iterable[W]) -> None:
        """Give up the valid leases among these rows, and leave the rows due as they were."""
        self._filter_valid_leases(rows).update(leased_by="", leased_until=None, attempts=F("attempts") - 1)

    def _filter_valid_leases(self, rows: Iterable[W]) -> Self:
        # A thread has one lease at a time, so its name distinguishes that from earlier ones.
        names = {row.leased_by for row in rows} - {""}
        return self.filter(pk__in=[row.pk for row in rows], leased_by__in=names)


class DueWork(models.Model):
    """A row of work. Subclasses add the data for the work."""

    due_at = models.DateTimeField(null=True, db_index=True)
    leased_until = models.DateTimeField(null=True, editable=False)
    leased_by = models.CharField(max_length=200, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    """How often it was leased; distinguishes one lease from the next."""

    leased_for: Owner = ()
    """The owner whose turn it was when it was leased."""

    objects = DueWorkQuerySet.as_manager()

    class Meta:
        abstract = True

    def finish(self, **changes: Any) -> None:
        """Mark it as done, and set other fields; raises `LeaseLost`.

        In the same transaction as the work itself, this completes the work exactly once.
        """
        self._end_lease(due_at=None, **changes)

    def postpone(self, seconds: float, **changes: Any) -> None:
        """Make it due again in this many seconds, and set other fields; raises `LeaseLost`."""
        # On SQLite a sum has three more digits than `Now()`: it would be due only a millisecond later.
        due_at = Now() + timedelta(seconds=seconds) if seconds else Now()
        self._end_lease(due_at=due_at, **changes)

    def release(self) -> None:
        """Give up the lease and leave the row due as it was; raises `LeaseLost`."""
        self._end_lease(attempts=F("attempts") - 1)

    def _end_lease(self, **changes: Any) -> None:
        rows = type(self)._default_manager.filter(
            pk=self.pk, leased_by=self.leased_by, attempts=self.attempts
        )
        if not self.leased_by or not rows.update(**{"leased_by": "", "leased_until": None, **changes}):
            raise LeaseLost


def _free() -> Q:
    return Q(leased_until=None) | Q(leased_until__lte=Now())


SILENT_AFTER: Final = datetime.timedelta(seconds=30)
"""The maximum age of a worker's heartbeat for it to count as running; each sends one every ten seconds."""


class PeriodicJob(DueWork):
    """A job done periodically, by one worker at a time; due again once it is done."""

    name = models.CharField(primary_key=True, max_length=100)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class Silence:
    """No worker is running."""

    since: datetime.datetime | None
    """None if no worker has ever run."""


class HeartbeatQuerySet(models.QuerySet["WorkerHeartbeat"]):
    def beat(self, worker: str) -> None:
        if not self.filter(pk=worker).update(seen_at=Now()):
            self.create(worker=worker, seen_at=timezone.now())

    def delete_expired(self, age: datetime.timedelta) -> None:
        """Delete the heartbeats of workers last seen before that time, but never the newest one."""
        newest = self.order_by("-seen_at").values_list("pk", flat=True).first()
        self.filter(seen_at__lt=timezone.now() - age).exclude(pk=newest).delete()

    def silence(self) -> Silence | None:
        """Return the start of the period without a worker; None if one is running."""
        newest = self.aggregate(newest=models.Max("seen_at"))["newest"]
        runs = newest is not None and timezone.now() - newest <= SILENT_AFTER
        return None if runs else Silence(since=newest)


class WorkerHeartbeat(models.Model):
    """A worker process, and when it was last seen."""

    worker = models.CharField(primary_key=True, max_length=200)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(db_index=True)

    objects = HeartbeatQuerySet.as_manager()

    def __str__(self) -> str:
        return self.worker
