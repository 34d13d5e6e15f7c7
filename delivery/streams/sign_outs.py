"""Streams of people who sign out end at once, as the streams of revoked keys do."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth import SESSION_KEY
from django.utils import timezone

from versioning.models import events
from versioning.models.followers import Follower


def _note_sign_out(*, instance: Any, **_signal: Any) -> None:
    # Expired sessions are removed many at a time, and let nobody in any more.
    if instance.expire_date > timezone.now() and SESSION_KEY in instance.get_decoded():
        events.touch()


FOLLOWER: Final = Follower(call=_note_sign_out, rows="sessions.Session")
