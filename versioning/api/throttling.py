"""The limit on requests: `EDITOR_THROTTLE`, counted by key for all processes together.

DRF's throttles count in Django's cache, which processes share only with a cache server; here the database
counts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from versioning.domain.access import Caller
from versioning.models.throttle import ThrottleWindow, parse_rate

if TYPE_CHECKING:
    from rest_framework.views import APIView


class CallerThrottle(BaseThrottle):
    """Limits the requests in each window of a second, minute, hour or day."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request; return whether it is within the limit."""
        caller = request.auth
        if not settings.EDITOR_THROTTLE or not isinstance(caller, Caller):
            return True
        limit, self.seconds = parse_rate(settings.EDITOR_THROTTLE)
        name = caller.key_prefix or f"user {caller.user_id}"
        return ThrottleWindow.objects.hit(name, int(time.time() // self.seconds)) <= limit

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return self.seconds - time.time() % self.seconds
