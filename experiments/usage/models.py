"""The model of usage."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models


class Usage(models.Model):
    """The usage of one version of a resource, in one arm or none, on one day (UTC)."""

    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    version_id = models.CharField(max_length=80, blank=True)
    """Empty for the version defined in code."""
    version_number = models.PositiveIntegerField(null=True)
    arm = models.CharField(max_length=64, blank=True)
    """The arm of the running rollout; empty without one."""
    day = models.DateField()
    runs = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    milliseconds = models.BigIntegerField(default=0)
    cost = models.BigIntegerField(default=0, db_default=0)
    """Of the runs with a known price, in billionths of a US dollar."""
    unpriced_runs = models.BigIntegerField(default=0, db_default=0)
    """The runs of which the price is unknown."""
    prices_of = models.DateField(null=True)
    """The date of the price list, at the last use."""
    first_used_at = models.DateTimeField()
    last_used_at = models.DateTimeField()
    last_used_by = models.TextField(blank=True)
    """The username at the time; empty for the application itself."""
    last_key_prefix = models.CharField(max_length=16, blank=True)
    """The prefix of the last key that used it; empty without one."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="usage_once_a_day", fields=["kind", "resource_id", "day", "version_id", "arm"]
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id} on {self.day}: {self.runs}"

    @classmethod
    def of_day(cls, kind: str, resource_id: str, day: datetime.date) -> list[dict[str, Any]]:
        """Return the sums of a resource so far on a day (UTC), by version and arm."""
        rows = cls._default_manager.filter(kind=kind, resource_id=resource_id, day=day)
        columns = ("version_id", "version_number", "arm", *SUMS, *COSTS)
        return list(rows.order_by("version_id", "arm").values(*columns))


SUMS = ("runs", "errors", "input_tokens", "output_tokens", "milliseconds")
"""The columns that applications report."""
COSTS = ("cost", "unpriced_runs")
"""The columns about costs; like the others, they are summed up."""
LAST = ("last_used_at", "last_used_by", "last_key_prefix", "prices_of")
"""The columns about the last use."""
