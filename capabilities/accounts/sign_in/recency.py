"""Whether the person of a session has proved lately who they are."""

from __future__ import annotations

import time
from typing import Final

from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY
from django.http import HttpRequest

from versioning.domain.errors import Forbidden

MINUTES: Final = 10
CONFIRMED: Final = "company.confirmed_at"
"""The key in a session for when the person last proved who they are, in seconds since 1970."""


class ConfirmationNeeded(Forbidden):
    code = "confirmation_needed"

    def __init__(self) -> None:
        super().__init__(
            "Your password was asked for too long ago for this: confirm it at /studio/account/confirm/ first."
        )


def is_recent(request: HttpRequest) -> bool:
    """Return whether the person of the session has proved within ten minutes who they are."""
    confirmed_at: float = request.session.get(CONFIRMED, 0.0)
    return time.time() - confirmed_at < MINUTES * 60


def require_recent(request: HttpRequest) -> None:
    """Raise `ConfirmationNeeded` for a session in which the person has to confirm who they are."""
    has_page = apps.is_installed("studio")  # where one confirms it
    if has_page and BACKEND_SESSION_KEY in request.session and not is_recent(request):
        raise ConfirmationNeeded
