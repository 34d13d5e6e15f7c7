"""Bodies under an ASGI server of another make: received with the same limits as by `manage.py serve`."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIRequest

from versioning.api.admission import (
    REFUSAL,
    Receive,
    Refusal,
    admission,
    declared_length,
    has_body,
    received,
)

Scope = dict[str, Any]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def bodies_first(application: Application) -> Application:
    """Receive the body of a request before Django does, which would wait for it as long as it takes."""

    async def receiving(scope: Scope, receive: Receive, send: Send) -> None:
        request = ASGIRequest(scope, io.BytesIO()) if scope["type"] == "http" else None
        if request is None or not has_body(request):
            await application(scope, receive, send)
            return
        async with ThreadSensitiveContext():
            admitted = await sync_to_async(admission)(request)
        length = declared_length(request)
        body = b"" if admitted is None else await received(receive, admitted, length)
        if isinstance(body, Refusal):
            scope = {**scope, REFUSAL: body}
        await application(scope, _again(body, receive), send)

    return receiving


def _again(body: bytes | Refusal, receive: Receive) -> Receive:
    """Return what gives out a body that is there, and then that the client has gone."""
    given = iter([body if isinstance(body, bytes) else b""])

    async def again() -> Mapping[str, Any]:
        for content in given:
            return {"type": "http.request", "body": content, "more_body": False}
        # What was not taken of a body may still come in.
        while (message := await receive())["type"] == "http.request":
            pass
        return message

    return again
