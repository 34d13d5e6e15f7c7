"""Ends the streams of people who sign out immediately, like those of revoked keys."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth import SESSION_KEY
from django.utils import timezone

from versioning.models import events
from versioning.models.followers import Follower


def _note_sign_out(*, instance: Any, **_signal: Any) -> None:
    # Expired sessions are removed in bulk; their listeners have already lost access.
    if instance.expire_date > timezone.now() and SESSION_KEY in instance.get_decoded():
        events.touch()


FOLLOWER: Final = Follower(call=_note_sign_out, rows="sessions.Session")
