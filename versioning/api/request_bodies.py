"""Limits for request bodies: who may send one, its maximum size and its maximum duration.

This is decided from the head of a request, before the body is read. If a body is refused, the reason is put
into the request's environment (`REFUSAL`), and `BodyLimitMiddleware` answers with it.
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

from versioning.serving.followed_keys import bearer_key, keys

REFUSAL: Final = "editor.body_refusal"
"""The key of the reason for a refusal, in a WSGI environment or an ASGI scope."""

ANONYMOUS_LIMIT: Final = 16 * 1024  # bytes; a sign-in form has a few hundred
ANONYMOUS_SECONDS: Final = 5.0
DISCARDED_LIMIT: Final = 64 * 1024 * 1024
MEMORY_LIMIT: Final = 128 * 1024 * 1024

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Refusal(StrEnum):
    """Why a request was refused before a view was called, in most cases because of its body."""

    TOO_LARGE = "too large"
    TOO_LARGE_FOR_ANONYMOUS = "too large for an anonymous caller"
    TOO_SLOW = "too slow"
    NO_MEMORY = "no memory left"
    BROKEN = "broken off"
    RUNS_FULL = "too many runs"


MAY_STILL_SEND: Final = frozenset({Refusal.TOO_LARGE, Refusal.TOO_LARGE_FOR_ANONYMOUS, Refusal.NO_MEMORY})
"""The refusals that are answered while the client may still be sending."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The maximum size of a body, and how long it may take to arrive."""

    size: int
    seconds: float
    too_large: Refusal = Refusal.TOO_LARGE

    @property
    def is_for_anonymous(self) -> bool:
        """Whether the caller is not signed in, so that no view will run anything for them."""
        return self.too_large is Refusal.TOO_LARGE_FOR_ANONYMOUS


def limits_for(request: HttpRequest) -> BodyLimits | None:
    """Return the limits for the body of a request, from its head alone; None if no body is read.

    The API reads bodies only from callers with a valid key or session; a key that was valid within the last
    minute suffices, because the view checks its current rights. The sign-in form is sent by people who are
    not signed in yet, so all other URLs have small limits.
    """
    try:
        is_known = _is_known(request)
    except Error:  # the view will refuse it
        return None
    finally:
        close_old_connections()
    if is_known:
        return BodyLimits(settings.EDITOR_MAX_BODY, settings.EDITOR_BODY_TIMEOUT)
    if request.path_info.startswith(f"/{settings.EDITOR_API_PREFIX}/"):
        return None
    return BodyLimits(
        min(ANONYMOUS_LIMIT, settings.EDITOR_MAX_BODY),
        min(ANONYMOUS_SECONDS, settings.EDITOR_BODY_TIMEOUT),
        Refusal.TOO_LARGE_FOR_ANONYMOUS,
    )


class BodyMemory:
    """Limits the memory that incomplete bodies take in a process; used by one event loop only.

    Each body is within its own limit, but thousands that stop one byte before their end are gigabytes.
    """

    def __init__(self, size: int = MEMORY_LIMIT) -> None:
        self._left = size

    @asynccontextmanager
    async def received(
        self, receive: Receive, limits: BodyLimits, length: int | None
    ) -> AsyncIterator[bytes | Refusal]:
        """Yield the body of an ASGI request or its refusal; `length` is the declared length."""
        taken = 0

        def take(size: int) -> bool:
            nonlocal taken
            taken += size
            self._left -= size
            return self._left >= 0

        try:
            body = await _received(receive, limits, length, take)
            if isinstance(body, Refusal):
                self._left += taken
                taken = 0
            yield body
        finally:
            self._left += taken


async def _received(
    receive: Receive, limits: BodyLimits, length: int | None, take: Callable[[int], bool]
) -> bytes | Refusal:
    if length is not None and length > limits.size:
        return limits.too_large
    parts: list[bytes] = []
    size = 0
    with suppress(TimeoutError):
        async with timeout(limits.seconds):
            while length is None or size < length:
                message = await receive()
                if message["type"] != "http.request":
                    return Refusal.BROKEN
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limits.size:
                    return limits.too_large
                if not take(len(parts[-1])):
                    return Refusal.NO_MEMORY
                if not message.get("more_body"):
                    break
            return b"".join(parts) if length in {None, size} else Refusal.BROKEN
    return Refusal.TOO_SLOW


async def disconnected(receive: Receive) -> Mapping[str, Any]:
    """Wait until the client disconnects, and return the message about it."""
    while (message := await receive())["type"] == "http.request":  # the end of a body whose length was known
        pass
    return message


async def discard(receive: Receive) -> None:
    """Read the rest of a body and discard it, for `ANONYMOUS_SECONDS` at most.

    To a client that is still sending, a closed connection is a network error, and it would never see the
    answer.
    """
    left = DISCARDED_LIMIT
    with suppress(TimeoutError):
        async with timeout(ANONYMOUS_SECONDS):
            while left > 0:
                message = await receive()
                if not message.get("more_body"):
                    return
                left -= len(message["body"])


def _is_known(request: HttpRequest) -> bool:
    """Return whether the request has a valid API key or session."""
    key = bearer_key(request.headers.get("Authorization", ""))
    if key is not None:
        return keys.was_usable(key) or keys.find(key) is not None
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    SessionMiddleware(_no_response).process_request(request)
    return get_user(request).is_authenticated


def _no_response(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the session's middleware reads a request here, and never answers one")
