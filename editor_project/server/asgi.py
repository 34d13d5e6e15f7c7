"""Limits for request bodies under other ASGI servers, the same as with `manage.py serve`."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIRequest

from versioning.api.limits import (
    ADMITTED,
    MAY_STILL_SEND,
    REFUSAL,
    BodyMemory,
    Receive,
    Refusal,
    RunsFull,
    discard,
    is_run,
    limits_for,
    runs,
    wait_for_disconnect,
)
from versioning.api.middleware import declared_length, has_body

Scope = dict[str, Any]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def bodies_first(application: Application) -> Application:
    """Receive the body of a request before Django, which would wait for it without a limit."""
    body_memory = BodyMemory()

    async def receiving(scope: Scope, receive: Receive, send: Send) -> None:
        request = ASGIRequest(scope, io.BytesIO()) if scope["type"] == "http" else None
        if request is None or not has_body(request):
            await application(scope, receive, send)
            return
        async with ThreadSensitiveContext():
            limits = await sync_to_async(limits_for)(request)
        if limits is None:
            await application(_with(scope, b""), _replay_body(b"", _never), send)
            await discard(receive)
            return
        async with body_memory.receive_body(receive, limits, declared_length(request)) as body:
            if isinstance(body, Refusal):
                await application({**_with(scope, b""), REFUSAL: body}, _replay_body(b"", _never), send)
            elif limits.is_for_anonymous or not is_run(scope["method"], request.path_info):
                await application(
                    _with(scope, body), _replay_body(body, partial(wait_for_disconnect, receive)), send
                )
                return
        if isinstance(body, Refusal):
            if body in MAY_STILL_SEND:
                await discard(receive)
            return
        await _run(application, _with(scope, body), body, receive, send)

    return receiving


async def _run(application: Application, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Call the application when it is the run's turn, unless the client has disconnected."""
    try:
        place = runs.join()
    except RunsFull:
        await application({**scope, REFUSAL: Refusal.RUNS_FULL}, _replay_body(body, _never), send)
        return
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        first: set[asyncio.Future[Any]] = {disconnect, asyncio.wrap_future(place.turn)}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not disconnect.done():
            then = _replay_body(body, partial(asyncio.shield, disconnect))
            await application({**scope, ADMITTED: True}, then, send)
    finally:
        disconnect.cancel()
        place.leave()


def _with(scope: Scope, body: bytes) -> Scope:
    headers = [
        header for header in scope["headers"] if header[0] not in {b"content-length", b"transfer-encoding"}
    ]
    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}


def _replay_body(body: bytes, then: Receive) -> Receive:
    """Return a `receive` that returns the body, and then any further messages."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def give() -> Mapping[str, Any]:
        for message in messages:
            return message
        return await then()

    return give


async def _never() -> Mapping[str, Any]:
    """Wait forever: nothing more is received from a client whose body was refused."""
    await asyncio.Event().wait()
    raise AssertionError
