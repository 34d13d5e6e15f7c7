"""Answers that are stored under the `Idempotency-Key` of a request, to be given again when it is repeated."""

from __future__ import annotations

import datetime
import uuid
from typing import Any, Final, NamedTuple

from django.db import models
from django.utils import timezone

LIFETIME: Final = datetime.timedelta(hours=24)
ABANDONED_AFTER: Final = datetime.timedelta(minutes=5)
"""After this time, a request without an answer is that of a process that was killed."""
MAX_LENGTH: Final = 255


class StoredAnswer(NamedTuple):
    """The answer to an earlier request."""

    status: int
    headers: dict[str, str]
    body: str


class IdempotentRequestManager(models.Manager["IdempotentRequest"]):
    """The requests of all callers."""

    def begin(self, caller: str, key: str, digest: str) -> IdempotentRequest | None:
        """Return the earlier request of this caller with the key; None if there is none, and this one begins.

        Of several at once, one begins.
        """
        now = timezone.now()
        own = self.filter(caller=caller, key=key)
        is_over = models.Q(begun_at__lt=now - LIFETIME)
        own.filter(is_over | models.Q(status=0, begun_at__lt=now - ABANDONED_AFTER)).delete()
        made = IdempotentRequest(caller=caller, key=key, digest=digest, begun_at=now)
        self.bulk_create([made], ignore_conflicts=True)
        found = own.get()
        return None if found.pk == made.pk else found

    def store(self, caller: str, key: str, answer: StoredAnswer) -> None:
        """Store the answer to the request that has begun."""
        self.filter(caller=caller, key=key).update(**answer._asdict())

    def drop(self, caller: str, key: str) -> None:
        """Forget the request that has begun: it may be sent again."""
        self.filter(caller=caller, key=key, status=0).delete()

    def delete_expired(self) -> None:
        """Delete the answers that are older than `LIFETIME`."""
        self.filter(begun_at__lt=timezone.now() - LIFETIME).delete()


class IdempotentRequest(models.Model):
    """A request with an `Idempotency-Key`, and its answer once there is one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    caller = models.CharField(max_length=64)
    key = models.CharField(max_length=MAX_LENGTH)
    digest = models.CharField(max_length=64)
    """Of its method, address and body."""
    begun_at = models.DateTimeField(db_index=True)
    status = models.PositiveSmallIntegerField(default=0)
    """0 while it is in progress."""
    headers: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    body = models.TextField(blank=True)

    objects = IdempotentRequestManager()

    class Meta:
        constraints = [models.UniqueConstraint(name="idempotent_request_unique", fields=["caller", "key"])]

    def __str__(self) -> str:
        return f"{self.caller}: {self.key}"

    @property
    def answer(self) -> StoredAnswer | None:
        """The answer; None while the request is in progress."""
        return StoredAnswer(self.status, self.headers, self.body) if self.status else None
