"""The limit on requests: `EDITOR_THROTTLE`, counted per key for all processes together."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from versioning.access import Caller
from versioning.models import ThrottleWindow

if TYPE_CHECKING:
    from rest_framework.views import APIView

_SECONDS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}


class CallerThrottle(BaseThrottle):
    """At most so many requests in each window of a second, minute, hour or day."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request; say whether it is within the limit."""
        caller = request.auth
        if not settings.EDITOR_THROTTLE or not isinstance(caller, Caller):
            return True
        limit, self.seconds = parse_rate(settings.EDITOR_THROTTLE)
        name = caller.key_prefix or f"user {caller.user_id}"
        return ThrottleWindow.objects.hit(name, int(time.time() // self.seconds)) <= limit

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return self.seconds - time.time() % self.seconds


def parse_rate(text: str) -> tuple[int, int]:
    """Return (requests, seconds) of a rate such as `600/min`; raises `ImproperlyConfigured`."""
    match = re.fullmatch(r"(\d+)/(\w+)", text)
    if match is None or match[2] not in _SECONDS:
        raise ImproperlyConfigured(f"EDITOR_THROTTLE must look like 600/min, not {text!r}")
    return int(match[1]), _SECONDS[match[2]]
