"""End the streams of people who sign out at once, like those of revoked keys."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete
from django.utils import timezone

from versioning.models import events


def watch() -> None:
    """Have the rights of all listeners read again whenever a person signs out."""
    post_delete.connect(_note_sign_out, sender=Session)


def _note_sign_out(*, instance: Session, **_signal: Any) -> None:
    # Expired sessions are removed many at a time; their listeners have lost access already.
    if instance.expire_date > timezone.now() and SESSION_KEY in instance.get_decoded():
        events.touch()
