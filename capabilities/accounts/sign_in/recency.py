"""Whether the person of a session has recently confirmed their identity."""

from __future__ import annotations

import time
from typing import Final

from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY
from django.http import HttpRequest

from versioning.domain.errors import Forbidden

MINUTES: Final = 10
CONFIRMED: Final = "company.confirmed_at"
"""The session key for the time of the last confirmation, in seconds since 1970."""


class ConfirmationNeeded(Forbidden):
    code = "confirmation_needed"

    def __init__(self) -> None:
        super().__init__(
            "Your password was asked for too long ago for this: confirm it at /studio/account/confirm/ first."
        )


def is_recent(request: HttpRequest) -> bool:
    """Return whether the person of the session has confirmed their identity within ten minutes."""
    confirmed_at: float = request.session.get(CONFIRMED, 0.0)
    return time.time() - confirmed_at < MINUTES * 60


def require_recent(request: HttpRequest) -> None:
    """Raise `ConfirmationNeeded` for a session in which the person has to confirm their identity."""
    has_page = apps.is_installed("studio")  # the page for confirming
    if has_page and BACKEND_SESSION_KEY in request.session and not is_recent(request):
        raise ConfirmationNeeded
