"""What workers share: when periodic jobs are due, and which workers run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from versioning.models.due_work import DueWork

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
        """Record that a worker is running."""
        if not self.filter(pk=worker).update(seen_at=Now()):
            self.create(worker=worker, seen_at=timezone.now())

    def delete_expired(self, age: datetime.timedelta) -> None:
        """Delete the heartbeats of workers last seen before that time, but never the newest one."""
        newest = self.order_by("-seen_at").values_list("pk", flat=True).first()
        self.filter(seen_at__lt=timezone.now() - age).exclude(pk=newest).delete()

    def silence(self) -> Silence | None:
        """Return since when no worker has been running; None if one is."""
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
