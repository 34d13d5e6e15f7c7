"""Removes rows that are of no use to anybody any more."""

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
"""How long it is remembered that a worker ran; the newest sign of one is never forgotten."""


def remove_waste() -> None:
    """Remove counters whose time is over, sessions that have expired and signs of workers of long ago."""
    SignInAttempts.objects.forget()
    ThrottleWindow.objects.forget(settings.EDITOR_THROTTLE)
    WorkerHeartbeat.objects.forget(HEARTBEATS)
    if apps.is_installed("django.contrib.sessions"):
        import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def prune_log() -> None:
    """Remove the entries of the log that are older than `EDITOR_KEEP_EVENTS` days; 0 keeps all of them."""
    if settings.EDITOR_KEEP_EVENTS:
        events.prune(timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_EVENTS))
