"""Work that is due at some time, leased to one worker at a time.

A capability with work to do later adds a table of its own:

    class Delivery(DueWork):
        webhook = models.ForeignKey(Webhook, …)

`due_at` says when a row is due; None means never (again). A worker leases due rows and reports the result
of each: done, or due again. Leases expire, so the rows of a killed worker soon become free. Work on a row
is completed under its lease, so it is completed once.

Where rows have owners, such as workspaces, these take turns: see `Turns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from threading import Lock
from typing import Any, Final, Self, TypeVar

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

LEASE_SECONDS: Final = 45
"""How long a lease lasts unless it is renewed, and so for how long a killed worker holds its rows."""
MAX_LOOKUPS: Final = 8
"""Of how many owners a worker tries to lease rows, when other workers are faster, before it looks again."""

W = TypeVar("W", bound="DueWork")

Owner = tuple[Any, ...]
"""Whose work is due: a workspace, and within it perhaps a receiver. What has no owner is `()`."""


class LeaseLost(Exception):
    """The lease expired before the work was completed, and the row belongs to another worker."""


class Turns:
    """Whose turn it is among those who have work due, for the places of one worker.

    Next is whoever holds the fewest places, and of those who hold as many, whose last turn was longest ago;
    first among the workspaces, then among what each of them owns. A workspace takes another place only while
    more are free than it holds. So one leaves half of the places free, two leave a third, and who comes later
    finds one until there are as many workspaces at work as places. A worker decides by what it does itself
    and asks nothing of others: each leaves places free.
    """

    def __init__(self, places: int = 1) -> None:
        self._places = places
        self._held: Counter[Owner] = Counter()
        self._latest: dict[Owner, int] = {}
        """The number of the latest turn of each who holds a place or has had something due since."""
        self._number = 0
        self._lock = Lock()

    def in_order(self, due: Iterable[Owner]) -> list[Owner]:
        """Return those who may take a place now, next first; `due` are all who have something due.

        Those of whom nothing tells who is first stay in the order in which they are given.
        """
        due = list(due)
        with self._lock:
            known = {part for owner in due for part in _parts(owner)}
            self._latest = {
                part: number for part, number in self._latest.items() if part in known or self._held[part]
            }
            free = self._places - self._held[()]
            may = [owner for owner in due if not owner or self._held[owner[:1]] < free]
            return sorted(may, key=self._precedence)

    def begin(self, owner: Owner) -> None:
        """Note that a place is taken."""
        with self._lock:
            self._number += 1
            self._held.update(_parts(owner))
            self._latest.update(dict.fromkeys(_parts(owner), self._number))

    def end(self, owner: Owner) -> None:
        """Note that a place is given back."""
        with self._lock:
            self._held -= Counter(_parts(owner))

    def _precedence(self, owner: Owner) -> list[tuple[int, int]]:
        return [(self._held[part], self._latest.get(part, 0)) for part in _parts(owner)]


def _parts(owner: Owner) -> list[Owner]:
    """Return no owner in particular, the workspace, and what is within it."""
    return [owner[:length] for length in range(len(owner) + 1)]


class DueWorkQuerySet(models.QuerySet[W]):
    """Rows of work and their leases. All times are by the clock of the database."""

    def due(self) -> Self:
        """Return the rows that are due and not leased, in the order in which they became due."""
        return self.filter(_free(), due_at__lte=Now()).order_by("due_at", "pk")

    def owners(self) -> Iterable[Owner]:
        """Return who has rows due, in the order in which they became due."""
        return [()]

    def lease(self, limit: int, *, by: str, turns: Turns | None = None) -> list[W]:
        """Lease at most `limit` due rows of whose turn it is, and return them; concurrent callers get others.

        `by` names the worker. The rows take one place of `turns`, until `Turns.end` is called for their
        `leased_for`. No worker waits: PostgreSQL skips rows that another worker is leasing, and SQLite allows
        one write at a time.
        """
        if not self.due().exists():  # looking takes no lock, and usually nothing is due
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
        """Lease at most `limit` due rows of an owner; subclasses whose rows have owners narrow the query."""
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

    def renew(self, rows: Iterable[W], *, by: str) -> None:
        """Extend the leases that still belong to this worker."""
        held = self.filter(pk__in=[row.pk for row in rows], leased_by=by)
        held.update(leased_until=Now() + timedelta(seconds=LEASE_SECONDS))


class DueWork(models.Model):
    """A row of work. Subclasses add what has to be done."""

    due_at = models.DateTimeField(null=True, db_index=True)
    leased_until = models.DateTimeField(null=True, editable=False)
    leased_by = models.CharField(max_length=200, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    """How often it was leased; distinguishes one lease from the next."""

    leased_for: Owner = ()
    """Whose turn it was when it was leased."""

    objects = DueWorkQuerySet.as_manager()

    class Meta:
        abstract = True

    def finish(self, **changes: Any) -> None:
        """Mark it as done, and set other fields; raises `LeaseLost`.

        In the same transaction as the work itself, this completes the work exactly once.
        """
        self._end_lease(due_at=None, **changes)

    def postpone(self, seconds: float, **changes: Any) -> None:
        """Make it due again in so many seconds, and set other fields; raises `LeaseLost`."""
        # On SQLite a sum has three digits more than `Now()`: it would be due only a millisecond later.
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
