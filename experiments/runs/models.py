"""The model of what runs served."""

from __future__ import annotations

import datetime
from typing import Final

from django.db import models
from django.utils import timezone

REMEMBERED: Final = datetime.timedelta(days=30)
"""For how long the versions that a run served are stored."""


class ServedRun(models.Model):
    """What a run served, so that feedback can name the run."""

    id = models.UUIDField(primary_key=True, editable=False)
    called = models.CharField(max_length=200)
    """The id of the called agent."""
    served = models.JSONField()
    """By `<kind>/<id>`: `[version id or null, arm or null]`, for the agents that ran and the blocks shown."""
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{self.called} at {self.created_at}"

    @property
    def is_forgotten(self) -> bool:
        """Whether it is too old to be named; a worker deletes the row later."""
        return self.created_at < timezone.now() - REMEMBERED
