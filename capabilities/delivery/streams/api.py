"""`GET /events/stream`: the events of the log as they happen."""

from __future__ import annotations

from typing import Final

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.delivery.streams.follower import TooManyStreams, follower
from capabilities.delivery.streams.listeners import listener_of
from capabilities.delivery.streams.subscription import AsyncSubscription, BlockingSubscription
from versioning.api.base import EditorViewSet
from versioning.api.errors import error_body
from versioning.api.events import AFTER, EPOCH, FILTERS, number, position, read_filter
from versioning.api.limits import capacity
from versioning.api.parameters import query
from versioning.api.runs import AnyAccept
from versioning.conf import get_editor
from versioning.models import storage

EVENT_STREAM: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"
RETRY_AFTER: Final = 5
"""Seconds after which a refused client may try again."""


class EventStreamViewSet(EditorViewSet):
    """Events of the log as they happen."""

    job = "Follow changes"
    subject = "event"
    answers = {"stream": (EVENT_STREAM,)}
    content_negotiation_class = AnyAccept
    query = {
        "stream": (
            query("after", "The events after this position; `now`, the default, for new ones.", type=AFTER),
            EPOCH,
            *FILTERS,
        )
    }
    header_parameters = {
        "stream": (
            OpenApiParameter(
                LAST_EVENT_ID,
                {"type": "string", "pattern": "^[0-9]{1,30}$"},
                OpenApiParameter.HEADER,
                description="The `id` of the last event that arrived: goes on there, and `after` is ignored.",
            ),
        )
    }

    def stream(self, request: Request) -> Response | StreamingHttpResponse:
        """Send events that the caller may see as they happen."""
        given = request.query_params
        only = read_filter(given)
        after = position(given.get("after", "now"), "after")
        # A client that has received nothing yet may send an empty header.
        last = number(request.headers.get(LAST_EVENT_ID) or None, LAST_EVENT_ID)
        start, epoch = get_editor().event.start(after if last is None else last, given.get("epoch"))
        server = capacity(request._request)  # noqa: SLF001  the server adds it to Django's request
        made = AsyncSubscription if server.in_event_loop else BlockingSubscription
        stream = made(listener_of(request), only, start, epoch, has_role=self.caller.has_role)
        if request.method != "HEAD":
            try:
                follower.add(stream, server.streams, person=self.caller.user_id)
            except TooManyStreams as error:
                return Response(error_body(error), status=503, headers={"Retry-After": str(RETRY_AFTER)})
        # A stream must not hold a connection of the pool.
        storage.give_back()
        content = () if request.method == "HEAD" else stream
        return StreamingHttpResponse(content, content_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})
