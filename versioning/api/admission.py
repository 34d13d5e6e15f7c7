"""Who may send a request body, how large it may be and how long it may take.

That is decided from the head of a request, before anything of the body is read. What became of a
body that was not taken travels in the environment of the request (`REFUSAL`), and the middleware
`body_limit` answers with it.
"""

from __future__ import annotations

from asyncio import timeout
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import Error, close_old_connections
from django.http import HttpRequest, HttpResponse

from versioning.api.authentication import bearer_key
from versioning.serving.followed_keys import keys

REFUSAL: Final = "editor.body_refusal"
"""In the environment of a request, or in its ASGI scope: why its body was not taken."""

STRANGERS_LIMIT: Final = 16 * 1024  # bytes: a sign-in form has some hundred
STRANGERS_SECONDS: Final = 5.0
DISCARDED_LIMIT: Final = 64 * 1024 * 1024
HELD_LIMIT: Final = 128 * 1024 * 1024

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Refusal(StrEnum):
    """Why a body was not taken."""

    TOO_LARGE = "too large"
    TOO_LARGE_FOR_A_STRANGER = "too large for somebody who is not signed in"
    TOO_SLOW = "too slow"
    NO_ROOM = "no room for it among the others"
    BROKEN = "broken off"


STILL_SENT: Final = frozenset({Refusal.TOO_LARGE, Refusal.TOO_LARGE_FOR_A_STRANGER, Refusal.NO_ROOM})
"""What is answered to a client that may still be sending."""


@dataclass(frozen=True, slots=True)
class Admission:
    """How large a body may be, and how long it may take to arrive."""

    limit: int
    seconds: float
    too_large: Refusal = Refusal.TOO_LARGE


def admission(request: HttpRequest) -> Admission | None:
    """Return what a request may send, by its head alone; None is nothing at all.

    The API reads a body from whoever has a valid key or session. Elsewhere there is the sign-in
    form, which nobody can be signed in for: it gets little room and little time.
    """
    try:
        is_known = _is_known(request)
    except Error:  # the view is going to say so
        return None
    finally:
        close_old_connections()
    if is_known:
        return Admission(settings.EDITOR_MAX_BODY, settings.EDITOR_BODY_TIMEOUT)
    if request.path_info.startswith(f"/{settings.EDITOR_API_PREFIX}/"):
        return None
    return Admission(
        min(STRANGERS_LIMIT, settings.EDITOR_MAX_BODY),
        min(STRANGERS_SECONDS, settings.EDITOR_BODY_TIMEOUT),
        Refusal.TOO_LARGE_FOR_A_STRANGER,
    )


class Room:
    """How many bytes of bodies a process may hold; an event loop has one, and nobody else asks it.

    Each body is within its limit, but thousands that stop one byte before their end are gigabytes.
    """

    def __init__(self, size: int = HELD_LIMIT) -> None:
        self._left = size

    @asynccontextmanager
    async def received(
        self, receive: Receive, admitted: Admission, length: int | None
    ) -> AsyncIterator[bytes | Refusal]:
        """Hold the body of an ASGI request, or why it is not taken; `length` is the declared one."""
        taken = 0

        def take(size: int) -> bool:
            nonlocal taken
            taken += size
            self._left -= size
            return self._left >= 0

        try:
            body = await _received(receive, admitted, length, take)
            if isinstance(body, Refusal):
                self._left += taken
                taken = 0
            yield body
        finally:
            self._left += taken


async def _received(
    receive: Receive, admitted: Admission, length: int | None, take: Callable[[int], bool]
) -> bytes | Refusal:
    if length is not None and length > admitted.limit:
        return admitted.too_large
    parts: list[bytes] = []
    size = 0
    with suppress(TimeoutError):
        async with timeout(admitted.seconds):
            while length is None or size < length:
                message = await receive()
                if message["type"] != "http.request":
                    return Refusal.BROKEN
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > admitted.limit:
                    return admitted.too_large
                if not take(len(parts[-1])):
                    return Refusal.NO_ROOM
                if not message.get("more_body"):
                    break
            return b"".join(parts) if length in {None, size} else Refusal.BROKEN
    return Refusal.TOO_SLOW


async def departure(receive: Receive) -> Mapping[str, Any]:
    """Wait until the client has gone, and return the message that says so."""
    while (message := await receive())["type"] == "http.request":  # the end of a body whose length was known
        pass
    return message


async def discard(receive: Receive) -> None:
    """Read what is still to come of a body and throw it away, for as long as a stranger's body may take.

    A client that is still sending would take a closed connection for a network fault, and never see
    the answer that waits for it.
    """
    left = DISCARDED_LIMIT
    with suppress(TimeoutError):
        async with timeout(STRANGERS_SECONDS):
            while left > 0:
                message = await receive()
                if not message.get("more_body"):
                    return
                left -= len(message["body"])


def has_body(request: HttpRequest) -> bool:
    """Say whether a body comes with the head of a request."""
    return request.META.get("CONTENT_LENGTH", "") not in {"", "0"} or "HTTP_TRANSFER_ENCODING" in request.META


def declared_length(request: HttpRequest) -> int | None:
    """Return the length that the head of a request declares, None where there is no number."""
    text = request.META.get("CONTENT_LENGTH", "")
    return int(text) if text.isascii() and text.isdigit() else None


def refusal_of(request: HttpRequest) -> Refusal | None:
    """Return why the body of a request was not taken, None where it was."""
    scope = getattr(request, "scope", request.META)
    refusal: Refusal | None = scope.get(REFUSAL)
    return refusal


def _is_known(request: HttpRequest) -> bool:
    """Say whether the request has a valid API key or the session of somebody."""
    key = bearer_key(request.headers.get("Authorization", ""))
    if key is not None:
        return keys.find(key) is not None
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    SessionMiddleware(_no_response).process_request(request)
    return get_user(request).is_authenticated


def _no_response(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the session's middleware reads a request here, and never answers one")
