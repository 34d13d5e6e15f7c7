"""Work that is due at some time, leased to one worker at a time.

A capability with work to do later adds a table of its own:

    class Delivery(DueWork):
        webhook = models.ForeignKey(Webhook, …)

`due_at` says when a row is due; None means never (again). A worker leases due rows and reports the result
of each: done, or due again. Leases expire, so the rows of a killed worker soon become free. Work on a row
is completed under its lease, so it is completed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, Self, TypeVar

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

LEASE_SECONDS: Final = 45
"""How long a lease lasts unless it is renewed, and so for how long a killed worker holds its rows."""

W = TypeVar("W", bound="DueWork")


class LeaseLost(Exception):
    """The lease expired before the work was completed, and the row belongs to somebody else."""


class DueWorkQuerySet(models.QuerySet[W]):
    """Rows of work and their leases. All times are by the clock of the database."""

    def due(self) -> Self:
        """Return the rows that are due and not leased, in the order in which they became due."""
        return self.filter(_free(), due_at__lte=Now()).order_by("due_at", "pk")

    def lease(self, limit: int, *, by: str) -> list[W]:
        """Lease at most `limit` due rows and return them; concurrent callers get others.

        `by` names the worker. Nobody waits: PostgreSQL skips rows that another worker is leasing, and
        SQLite allows one write at a time.
        """
        if not self.due().exists():  # looking takes no lock, and usually nothing is due
            return []
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

    objects = DueWorkQuerySet.as_manager()

    class Meta:
        abstract = True

    def finish(self, **changes: Any) -> None:
        """Mark it as done, and set other fields; raises `LeaseLost`.

        In the same transaction as the work itself, this completes the work exactly once.
        """
        self._let_go(due_at=None, **changes)

    def postpone(self, seconds: float, **changes: Any) -> None:
        """Make it due again in so many seconds, and set other fields; raises `LeaseLost`."""
        # On SQLite a sum has three digits more than `Now()`: it would be due only a millisecond later.
        due_at = Now() + timedelta(seconds=seconds) if seconds else Now()
        self._let_go(due_at=due_at, **changes)

    def release(self) -> None:
        """Give up the lease and leave the row due as it was; raises `LeaseLost`."""
        self._let_go(attempts=F("attempts") - 1)

    def _let_go(self, **changes: Any) -> None:
        rows = type(self)._default_manager.filter(
            pk=self.pk, leased_by=self.leased_by, attempts=self.attempts
        )
        if not self.leased_by or not rows.update(**{"leased_by": "", "leased_until": None, **changes}):
            raise LeaseLost


def _free() -> Q:
    return Q(leased_until=None) | Q(leased_until__lte=Now())
