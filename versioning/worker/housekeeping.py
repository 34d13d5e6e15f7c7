"""The jobs of the editor itself; most of them delete rows that are not needed any more."""

from __future__ import annotations

import datetime
from typing import Final

from django.apps import apps
from django.conf import settings
from django.utils import timezone

from versioning.capabilities import session_store
from versioning.models import (
    IdempotentRequest,
    LockKey,
    SignInAttempts,
    ThrottleWindow,
    WorkerHeartbeat,
    pruning,
)
from versioning.models.text_search import following
from versioning.worker import override_watch
from versioning.worker.jobs import Periodic

SECONDS: Final = 3600.0
HEARTBEATS: Final = datetime.timedelta(days=7)
"""How long heartbeats are stored; the newest one is never deleted."""


def remove_waste() -> None:
    """Delete expired counters, expired sessions and old heartbeats."""
    SignInAttempts.objects.delete_expired()
    ThrottleWindow.objects.delete_expired(settings.EDITOR_THROTTLE)
    WorkerHeartbeat.objects.delete_expired(HEARTBEATS)
    IdempotentRequest.objects.delete_expired()
    if apps.is_installed("django.contrib.sessions"):
        session_store().clear_expired()


def prune_log() -> None:
    """Delete log entries older than `EDITOR_KEEP_EVENTS` days; 0 keeps all of them."""
    if settings.EDITOR_KEEP_EVENTS:
        pruning.prune(timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_EVENTS))


JOBS: Final = (
    Periodic(
        name="override files",
        run=override_watch.OverrideWatch().look,
        every=override_watch.SECONDS,
        in_each_worker=True,
    ),
    Periodic(name="waste", run=remove_waste, every=SECONDS),
    Periodic(name="old events", run=prune_log, every=SECONDS),
    Periodic(name="keys", run=LockKey.keep_up, every=SECONDS),
    Periodic(name="search index", run=following.follow, every=following.SECONDS, in_each_worker=True),
)
