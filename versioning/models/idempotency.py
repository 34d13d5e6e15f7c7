"""Answers stored under the `Idempotency-Key` of a request, to repeat them for a repeated request."""

from __future__ import annotations

import datetime
import json
import os
import threading
import time
import uuid
from collections import Counter, defaultdict
from multiprocessing.util import Finalize
from typing import Any, Final, NamedTuple

from django.db import DatabaseError, models, transaction
from django.db.models.functions import Cast
from django.utils import timezone

from versioning.models.search import ByteLength
from versioning.models.storage import give_back

LIFETIME: Final = datetime.timedelta(hours=24)
ABANDONED_AFTER: Final = datetime.timedelta(minutes=5)
"""After this time, the process of a request without an answer counts as killed."""
MAX_LENGTH: Final = 255
MAX_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of all answers of a caller, in the database and in memory; the oldest are forgotten."""
_ROW_BYTES: Final = 512
"""The size of an answer besides its headers and its body, rounded up."""
MAX_UNWRITTEN_BYTES: Final = 8 * MAX_BYTES
"""The maximum size of all callers' answers that a process keeps while the database cannot store them."""


class StoredAnswer(NamedTuple):
    """The answer to an earlier request."""

    status: int
    headers: dict[str, Any]
    body: str

    @property
    def size(self) -> int:
        """The size in bytes, which counts towards `MAX_BYTES`."""
        return (
            len(self.body.encode()) + len(json.dumps(self.headers, ensure_ascii=False).encode()) + _ROW_BYTES
        )


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
        request = IdempotentRequest(caller=caller, key=key, digest=digest, begun_at=now)
        self.bulk_create([request], ignore_conflicts=True)
        stored_request = own.get()
        return None if stored_request.pk == request.pk else stored_request

    def end(self, caller: str, key: str, digest: str, answer: StoredAnswer | None) -> None:
        """Store the answer to the request that has begun.

        None, or an answer larger than `MAX_BYTES`, deletes the request, so that it can be sent again.
        """
        own = self.filter(caller=caller, key=key)
        if answer is not None and answer.size > MAX_BYTES:
            answer = None
        if answer is None:
            own.filter(status=0).delete()
        elif not own.update(**answer._asdict()):
            request = IdempotentRequest(
                caller=caller, key=key, digest=digest, begun_at=timezone.now(), **answer._asdict()
            )
            self.bulk_create([request], ignore_conflicts=True)
        if answer is not None:
            self._forget_oldest(caller)

    def _forget_oldest(self, caller: str) -> None:
        """Delete the oldest answers of a caller that together with newer ones exceed `MAX_BYTES`."""
        answered = self.filter(caller=caller).exclude(status=0)
        headers = ByteLength(Cast("headers", models.TextField()))
        size = ByteLength("body") + headers + models.Value(_ROW_BYTES)
        if (answered.aggregate(total=models.Sum(size))["total"] or 0) <= MAX_BYTES:
            return
        total, forgotten = 0, []
        for pk, row_bytes in answered.order_by("-begun_at", "pk").values_list("pk", size):
            total += row_bytes
            if total > MAX_BYTES:
                forgotten.append(pk)
        for start in range(0, len(forgotten), 500):
            self.filter(pk__in=forgotten[start : start + 500]).delete()

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


class Unwritten:
    """Ends of requests that are not stored yet: of streams, and those for which the database was unavailable.

    A thread writes them once that is possible. Until then only this process knows the answers; to other
    processes the requests are in progress. Answers of one caller take at most `MAX_BYTES`, and all together
    `MAX_UNWRITTEN_BYTES`; beyond that, the oldest one of the caller with the most is dropped.
    """

    every: float | None = 1.0
    """The seconds between attempts; None writes only when `write` is called."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)  # the parent writes its own

    def forget(self) -> None:
        """Discard unwritten ends."""
        self._lock = threading.Lock()
        self._ends: defaultdict[str, dict[str, tuple[str, StoredAnswer | None]]] = defaultdict(dict)
        """By caller and key, oldest first."""
        self._bytes: Counter[str] = Counter()
        """By caller."""
        self._writer: threading.Thread | None = None
        self._at_exit: Finalize | None = None

    def add(self, caller: str, key: str, digest: str, answer: StoredAnswer | None) -> None:
        """Keep the end of a request."""
        if answer is not None and answer.size > MAX_BYTES:
            answer = None
        with self._lock:
            self._drop(caller, key)
            self._ends[caller][key] = digest, answer
            self._bytes[caller] += _ROW_BYTES if answer is None else answer.size
            while self._bytes[caller] > MAX_BYTES:
                self._drop(caller, next(iter(self._ends[caller])))
            while self._bytes.total() > MAX_UNWRITTEN_BYTES:
                [(largest, _)] = self._bytes.most_common(1)
                self._drop(largest, next(iter(self._ends[largest])))
            if self._writer is None and self.every is not None:
                self._writer = threading.Thread(
                    target=self._write_all, args=[self.every], name="idempotent-answers", daemon=True
                )
                self._writer.start()
                if self._at_exit is None:
                    # Processes forked by multiprocessing, such as those of `serve`, end without `atexit`.
                    self._at_exit = Finalize(None, self.write, exitpriority=0)

    def find(self, caller: str, key: str) -> tuple[str, StoredAnswer | None] | None:
        """Return the digest and the answer of a request; without an answer, the request is to be deleted."""
        with self._lock:
            return self._ends[caller].get(key) if caller in self._ends else None

    def remove(self, caller: str, key: str) -> None:
        """Drop the end of a request that was written by another path."""
        with self._lock:
            self._drop(caller, key)

    def _drop(self, caller: str, key: str) -> None:
        """Drop the end of a request, if it is kept; the caller holds the lock."""
        if caller not in self._ends or key not in self._ends[caller]:
            return
        _, answer = self._ends[caller].pop(key)
        self._bytes[caller] -= _ROW_BYTES if answer is None else answer.size
        if not self._ends[caller]:
            del self._ends[caller], self._bytes[caller]

    def write(self) -> bool:
        """Write all kept ends; return whether that succeeded."""
        with self._lock:
            ends = [(caller, *entry) for caller, own in self._ends.items() for entry in own.items()]
        for caller, key, (digest, answer) in ends:
            try:
                with transaction.atomic():
                    IdempotentRequest.objects.end(caller, key, digest, answer)
            except DatabaseError:
                return False
            self.remove(caller, key)
        return True

    def _write_all(self, every: float) -> None:
        while True:
            time.sleep(every)
            self.write()
            give_back()
            with self._lock:
                if not self._ends:
                    self._writer = None
                    return


UNWRITTEN: Final = Unwritten()
