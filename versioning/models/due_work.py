"""Work that is due at some time, and that one worker at a time takes for a while.

A capability that has work to do later gives it a table of its own:

    class Delivery(DueWork):
        webhook = models.ForeignKey(Webhook, …)

`due_at` says when a row is due; None is never (any more). A worker leases rows that are due and says what
became of each: done, or due again. A lease ends by itself, so what a killed worker held is soon free again;
and what is done about a row is done under the lease, so it is done once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, Self, TypeVar

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

LEASE_SECONDS: Final = 45
"""How long a lease lasts unless it is renewed: whatever a killed worker held is free again after that."""

W = TypeVar("W", bound="DueWork")


class LeaseLost(Exception):
    """The row is somebody else's by now: its lease ended before what was done about it did."""


class DueWorkQuerySet(models.QuerySet[W]):
    """Rows of work, and the leases on them. All times are by the clock of the database."""

    def due(self) -> Self:
        """Return the rows that are due and that nobody has leased, in the order in which they became due."""
        return self.filter(_free(), due_at__lte=Now()).order_by("due_at", "pk")

    def lease(self, limit: int, *, by: str) -> list[W]:
        """Lease so many rows that are due, at most, and return them; whoever asks meanwhile gets others.

        `by` names the worker. Nobody waits: PostgreSQL skips rows that another worker is leasing, and SQLite
        lets one write at a time.
        """
        if not self.due().exists():  # a look takes no lock, and mostly there is nothing
            return []
        with transaction.atomic(using=self.db):
            rows = list(self.due().select_for_update(skip_locked=True)[:limit])
            mine = self.filter(_free(), pk__in=[row.pk for row in rows])
            until = Now() + timedelta(seconds=LEASE_SECONDS)
            leased = mine.update(leased_by=by, leased_until=until, attempts=F("attempts") + 1)
            if leased != len(rows):  # only where transactions of SQLite do not begin with the lock
                transaction.set_rollback(True, using=self.db)
                return []
        for row in rows:
            row.leased_by, row.attempts = by, row.attempts + 1
        return rows

    def renew(self, rows: Iterable[W], *, by: str) -> None:
        """Let leases last for another while, as far as they are still this worker's."""
        held = self.filter(pk__in=[row.pk for row in rows], leased_by=by)
        held.update(leased_until=Now() + timedelta(seconds=LEASE_SECONDS))


class DueWork(models.Model):
    """A row of work. Subclasses add what is to be done."""

    due_at = models.DateTimeField(null=True, db_index=True)
    leased_until = models.DateTimeField(null=True, editable=False)
    leased_by = models.CharField(max_length=200, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    """How often it was leased, which tells one lease from another."""

    objects = DueWorkQuerySet.as_manager()

    class Meta:
        abstract = True

    def finish(self, **changes: Any) -> None:
        """Say that it is done, together with changes of other fields; raises `LeaseLost`.

        In the transaction of what is done about the row, this makes it done exactly once.
        """
        self._let_go(due_at=None, **changes)

    def postpone(self, seconds: float, **changes: Any) -> None:
        """Make it due again so many seconds from now, with changes of other fields; raises `LeaseLost`."""
        self._let_go(due_at=Now() + timedelta(seconds=seconds), **changes)

    def release(self) -> None:
        """Give it back untouched, due as it was; raises `LeaseLost`."""
        self._let_go(attempts=F("attempts") - 1)

    def _let_go(self, **changes: Any) -> None:
        rows = type(self)._default_manager.filter(
            pk=self.pk, leased_by=self.leased_by, attempts=self.attempts
        )
        if not self.leased_by or not rows.update(**{"leased_by": "", "leased_until": None, **changes}):
            raise LeaseLost


def _free() -> Q:
    return Q(leased_until=None) | Q(leased_until__lte=Now())
