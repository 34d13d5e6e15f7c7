"""Delete rows that are no longer needed."""

from __future__ import annotations

import datetime
from importlib import import_module
from typing import Final

from django.apps import apps
from django.conf import settings
from django.utils import timezone

from versioning.models import SignInAttempts, ThrottleWindow, WorkerHeartbeat, events

SECONDS: Final = 3600.0
HEARTBEATS: Final = datetime.timedelta(days=7)
"""How long heartbeats are stored; the newest one is never deleted."""


def remove_waste() -> None:
    """Delete expired counters, expired sessions and old heartbeats."""
    SignInAttempts.objects.forget()
    ThrottleWindow.objects.forget(settings.EDITOR_THROTTLE)
    WorkerHeartbeat.objects.forget(HEARTBEATS)
    if apps.is_installed("django.contrib.sessions"):
        import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def prune_log() -> None:
    """Delete log entries older than `EDITOR_KEEP_EVENTS` days; 0 keeps all of them."""
    if settings.EDITOR_KEEP_EVENTS:
        events.prune(timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_EVENTS))
