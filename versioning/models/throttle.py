"""The number of requests that a caller has made in the current window, for all processes together."""

from __future__ import annotations

import re
import time

from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction

_SECONDS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}


class ThrottleWindowManager(models.Manager["ThrottleWindow"]):
    """The counters that all processes share."""

    def hit(self, caller: str, window: int) -> int:
        """Count one request in the caller's window and return the number so far.

        `window` is the number of the window since the epoch. A new window replaces the previous one, so the
        table has one row per caller.
        """
        with transaction.atomic():
            # The row has not been created yet, or was just deleted.
            while (row := self.select_for_update().filter(caller=caller).first()) is None:
                self.bulk_create(
                    [ThrottleWindow(caller=caller, window=window, requests=0)], ignore_conflicts=True
                )
            row.requests = row.requests + 1 if row.window == window else 1
            row.window = window
            row.save(update_fields=["window", "requests"])
            return row.requests

    def delete_expired(self, rate: str) -> None:
        """Delete the counters of past windows, or all of them if no rate is limited."""
        over = self.all()
        if rate:
            _, seconds = parse_rate(rate)
            over = over.filter(window__lt=int(time.time()) // seconds)
        over.delete()


class ThrottleWindow(models.Model):
    """The current window of a caller."""

    caller = models.CharField(primary_key=True, max_length=64)
    window = models.BigIntegerField()
    requests = models.PositiveIntegerField()

    objects = ThrottleWindowManager()

    def __str__(self) -> str:
        return f"{self.caller}: {self.requests}"


def parse_rate(text: str) -> tuple[int, int]:
    """Return (requests, seconds) of a rate such as `600/min`; raises `ImproperlyConfigured`."""
    match = re.fullmatch(r"(\d+)/(\w+)", text)
    if match is None or match[2] not in _SECONDS:
        raise ImproperlyConfigured(f"EDITOR_THROTTLE must look like 600/min, not {text!r}")
    return int(match[1]), _SECONDS[match[2]]
