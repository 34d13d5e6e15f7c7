"""Running agents: generate, and stream as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.run_queue import waits_for_models
from versioning.api.schemas.runs import Run, RunAnswer
from versioning.conf import get_framework
from versioning.domain.access import Action
from versioning.domain.selectors import PUBLISHED
from versioning.models import connections
from versioning.runtime import EventStream, RequestContext

HEARTBEAT = 0.5
"""Seconds of silence after which a comment is sent: only by writing does a server notice that the client
left."""

PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


class AnyAccept(DefaultContentNegotiation):
    """Accepts any `Accept` header: a stream consists of events, and errors of the call are JSON."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the only renderer."""
        return renderers[0], renderers[0].media_type


class RunViewSet(EditorViewSet):
    """Running agents."""

    job = "Run agents"
    subject = "agent"
    actions = dict.fromkeys(("generate", "stream"), Action.RUN)
    content_negotiation_class = AnyAccept
    query = dict.fromkeys(("generate", "stream"), (*parameters.SELECTOR, parameters.CONTEXT))
    requests = {"generate": Run, "stream": Run}
    responses = {"generate": RunAnswer}
    answers = {"stream": ("text/event-stream",)}

    @waits_for_models
    def generate(self, request: Request, id: str) -> Response:
        """Run the agent on the messages and return its answer."""
        return Response(self.dump(get_framework().generate(id, **self._call(request))))

    @waits_for_models
    def stream(self, request: Request, id: str) -> StreamingHttpResponse:
        """Run the agent and send its events as they happen."""
        framework, call = get_framework(), self._call(request)
        if isinstance(request._request, ASGIRequest):  # noqa: SLF001  the interface decides, not the caller
            events = framework.astream(id, heartbeat=HEARTBEAT, **call)
            async_to_sync(_checked)(events)
            content: Any = _async_frames(events)
        else:
            content = _frames(framework.stream(id, heartbeat=HEARTBEAT, **call))
        # Everything needed from the database has been read; a stream must not hold a connection of the
        # pool.
        connections.give_back()
        headers = {"X-Accel-Buffering": "no"}
        return StreamingHttpResponse(content, content_type="text/event-stream", headers=headers)

    def _call(self, request: Request) -> dict[str, Any]:
        body = Run.read(request)
        values = body.get("requestContext") or parameters.context(request.query_params)
        given = {name for name in parameters.SELECTOR_NAMES if name in request.query_params}
        return {
            "messages": body["messages"],
            "default": PUBLISHED,
            "selector": parameters.selector(request.query_params) if given else None,
            "versions": body.get("versions"),
            "request_context": RequestContext.of(values, by=self.caller),
            "max_steps": body.get("maxSteps"),
            "model_settings": body.get("modelSettings"),
            "instructions": body.get("instructions"),
        }


def frame(event: dict[str, Any] | None) -> bytes:
    """Return an event as a server-sent event; None gives a comment that keeps the connection alive."""
    if event is None:
        return PING
    return b"data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


async def _checked(events: EventStream[Any]) -> None:
    """Raise errors of the call now, while the status of the answer can still be set."""
    await events


def _frames(events: Any) -> Iterator[bytes]:
    try:
        for event in events:
            yield frame(event)
        yield DONE
    finally:
        events.close()


async def _async_frames(events: EventStream[Any]) -> AsyncIterator[bytes]:
    try:
        async for event in events:
            yield frame(event)
        yield DONE
    finally:
        await events.aclose()
