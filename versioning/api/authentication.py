"""Authentication by an API key or by a session of the studio, and the limit on requests by key.

`request.auth` is the `Caller`, with the rights at the time of the request. `EDITOR_THROTTLE` is counted by
key for all processes together: DRF's throttles count in Django's cache, which processes share only through a
cache server; here the database counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from versioning.domain.access import Caller, Via
from versioning.domain.registering import require_callable
from versioning.models import caller_for, storage
from versioning.models.keys import refusal
from versioning.models.throttle import ThrottleWindow, parse_rate
from versioning.serving.followed_keys import bearer_key, keys

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from rest_framework.request import Request
    from rest_framework.views import APIView


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """The owner of a key, with the attributes that REST framework needs."""

    username: str | None
    is_authenticated: ClassVar[bool] = True


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer ek_…`."""

    def authenticate(self, request: Request) -> tuple[KeyOwner, Caller] | None:
        """Return the key's owner and the caller; raises `Unauthorized` if the key is not valid."""
        text = bearer_key(get_authorization_header(request).decode("latin-1"))
        if text is None:
            return None
        miss = getattr(request._request, "cache_miss", None)  # noqa: SLF001  what the middleware sees
        key = keys.find(text, miss and miss.pending.begun)
        if key is None:
            raise refusal(text)
        return KeyOwner(key.caller.username), key.caller

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="editor"'


class PersonAuthentication(SessionAuthentication):
    """The session of a person; unsafe methods need the CSRF token, as in the studio."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        """Return the person and the caller, or None without a session."""
        credentials = super().authenticate(request)
        return (credentials[0], caller_for(credentials[0], Via.API)) if credentials else None


RATE_LIMIT: Final = "editor.rate_limit"
"""Key in a request's `META` of its rate-limit headers (draft-ietf-httpapi-ratelimit-headers)."""


class CallerThrottle(BaseThrottle):
    """Limits the requests of a key per second, minute, hour or day."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request; return whether it is within the limit.

        While the disk is full, nothing is counted.
        """
        caller = request.auth
        if not settings.EDITOR_THROTTLE or not isinstance(caller, Caller):
            return True
        limit, self.seconds = parse_rate(settings.EDITOR_THROTTLE)
        name = caller.key_prefix or f"user {caller.user_id}"
        number = 0
        with storage.optional():
            number = ThrottleWindow.objects.hit(name, int(time.time() // self.seconds))
        request._request.META[RATE_LIMIT] = {  # noqa: SLF001  for `EditorViewSet.finalize_response`
            "RateLimit-Policy": f'"key";q={limit};w={self.seconds}',
            "RateLimit": f'"key";r={max(0, limit - number)};t={math.ceil(self.wait())}',
        }
        return number <= limit

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return self.seconds - time.time() % self.seconds


_confirmations: Final[list[Callable[[HttpRequest], object]]] = []


def register_confirmation(check: Callable[[HttpRequest], object]) -> None:
    """Call this check before a signed-in person without a key administers through the API.

    The check raises if the person has to confirm their identity first.
    """
    require_callable(check, by="EditorApp.confirms")
    _confirmations.append(check)


def confirm(request: HttpRequest) -> None:
    """Raise if the person making the request has to confirm their identity first."""
    for check in _confirmations:
        check(request)
