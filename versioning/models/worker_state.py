"""What workers know of each other: when periodic work is due, and which of them run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from versioning.models.due_work import DueWork

SILENT_AFTER: Final = datetime.timedelta(seconds=30)
"""How old the newest sign of a worker may be while it counts as running; each gives one every ten seconds."""


class PeriodicJob(DueWork):
    """A job that is done every so often, by one worker at a time; due again as soon as it is done."""

    name = models.CharField(primary_key=True, max_length=100)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class Silence:
    """No worker runs."""

    since: datetime.datetime | None
    """None when none ever has."""


class HeartbeatQuerySet(models.QuerySet["WorkerHeartbeat"]):
    """The signs of life."""

    def beat(self, worker: str) -> None:
        """Note that a worker is running."""
        if not self.filter(pk=worker).update(seen_at=Now()):
            self.create(worker=worker, seen_at=timezone.now())

    def forget(self, age: datetime.timedelta) -> None:
        """Delete the signs of workers that were last seen so long ago, but never the newest one."""
        newest = self.order_by("-seen_at").values_list("pk", flat=True).first()
        self.filter(seen_at__lt=timezone.now() - age).exclude(pk=newest).delete()

    def silence(self) -> Silence | None:
        """Return since when no worker runs; None while one does."""
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
