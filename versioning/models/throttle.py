"""The number of requests that a caller has made in the current window, for all processes together."""

from __future__ import annotations

import datetime
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

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


FIRST_WAIT: Final = 5  # seconds, doubled with every further wrong password
LONGEST_WAIT: Final = 300  # seconds: previous attempts lock people out for no longer than this
FORGOTTEN_AFTER: Final = datetime.timedelta(hours=1)
_FREE: Final[Mapping[str, int]] = {
    "account": 5,
    "browser": 5,
    "password": 5,
    "second": 5,
    "forgotten": 3,
    "address": 30,
}
"""The number of wrong passwords without consequences, for each kind of subject."""
_HASH_DIGITS: Final = 5  # at most 16**5 subjects of each kind, for all names that are tried
_CLEANED_AT_ONCE: Final = 200


def subject(kind: str, name: str) -> str:
    """Return the subject under which attempts are counted; the name itself is not stored.

    An unknown account has a subject like any other, so that a subject does not reveal which accounts exist.
    """
    return f"{kind}:{salted_hmac(__name__, name).hexdigest()[:_HASH_DIGITS]}"


def seconds_to_wait(subject: str, failures: int) -> int:
    """Return the seconds without password checks after this many wrong passwords."""
    beyond = failures - _FREE[subject.partition(":")[0]]
    return 0 if beyond < 0 else min(FIRST_WAIT << min(beyond, 16), LONGEST_WAIT)


class TooManyAttempts(Exception):
    """For this many seconds no password is checked, not even the right one."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True)
class Attempt:
    """An attempt that counts as a failure until it has succeeded."""

    counted: Sequence[SignInAttempts]
    """The current rows, with this attempt counted."""

    def mark_succeeded(self, *cleared: str) -> None:
        """Undo the attempt, and delete the counters of the subjects to clear."""
        SignInAttempts.objects.filter(subject__in=cleared).delete()
        for row in self.counted:
            SignInAttempts.objects.filter(subject=row.subject, failures__gt=0).update(
                failures=models.F("failures") - 1
            )
            # A wait that this attempt caused ends; one caused by another attempt in the meantime continues.
            SignInAttempts.objects.filter(subject=row.subject, blocked_until=row.blocked_until).update(
                blocked_until=None
            )

    @property
    def seconds(self) -> int:
        """The wait in seconds after this attempt, if it fails."""
        return max((seconds_to_wait(row.subject, row.failures) for row in self.counted), default=0)


class SignInAttemptsManager(models.Manager["SignInAttempts"]):
    """The counters that all processes share."""

    def begin(self, subjects: Iterable[str]) -> Attempt:
        """Count an attempt for each of the subjects, before the password is checked.

        Since it is counted first, a hundred simultaneous attempts are no better than a hundred in a row.
        Raises `TooManyAttempts` during a wait; such an attempt is not counted, so it does not prolong a wait.
        """
        self._clean()
        names = sorted(subjects)  # always locked in this order
        with transaction.atomic():
            fresh = [SignInAttempts(subject=name, last_at=timezone.now()) for name in names]
            self.bulk_create(fresh, ignore_conflicts=True)
            rows = list(self.select_for_update().filter(subject__in=names).order_by("subject"))
            now = timezone.now()  # the time after acquiring the lock, which may have taken a while
            seconds_left = max((row.seconds_left(now) for row in rows), default=0)
            if seconds_left > 0:
                raise TooManyAttempts(math.ceil(seconds_left))
            for row in rows:
                row.count(now)
        return Attempt(rows)

    def delete_expired(self) -> None:
        """Delete all counters that are too old to matter, in batches."""
        while self._clean():
            pass

    def _clean(self) -> int:
        """Delete some of the counters that are too old, so that the table does not grow; return how many."""
        with transaction.atomic():
            old = self.filter(last_at__lt=timezone.now() - FORGOTTEN_AFTER)
            # Rows that another process is about to update or delete are skipped.
            names = old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:_CLEANED_AT_ONCE]
            return self.filter(pk__in=list(names)).delete()[0]


class SignInAttempts(models.Model):
    """The wrong passwords of the last hour for an account, from an address or from a browser."""

    subject = models.CharField(primary_key=True, max_length=32)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    blocked_until = models.DateTimeField(null=True)
    """None if there is no wait."""

    objects = SignInAttemptsManager()

    class Meta:
        verbose_name_plural = "sign-in attempts"

    def __str__(self) -> str:
        return f"{self.subject}: {self.failures}"

    def seconds_left(self, now: datetime.datetime) -> float:
        """Return the remaining seconds of the wait."""
        return 0 if self.blocked_until is None else (self.blocked_until - now).total_seconds()

    def count(self, now: datetime.datetime) -> None:
        """Count an attempt, and begin a wait if it is one too many."""
        self.failures = self.failures + 1 if now - self.last_at < FORGOTTEN_AFTER else 1
        self.last_at = now
        seconds = seconds_to_wait(self.subject, self.failures)
        self.blocked_until = now + datetime.timedelta(seconds=seconds) if seconds else None
        self.save()
