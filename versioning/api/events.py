"""The log over HTTP: changes since a position."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import KIND, RESOURCE_ID, WORKSPACE, query
from versioning.api.schemas import EventPage
from versioning.conf import get_editor
from versioning.domain.errors import Invalid
from versioning.domain.events import matching
from versioning.editor.event_log import MAX_EVENTS, EventFilter, Now

DEFAULT_LIMIT: Final = 100
_POSITION: Final = re.compile(r"[0-9]{1,30}")
_TYPES: Final = r"^[a-zA-Z]+\.([a-zA-Z]+|\*)(,[a-zA-Z]+\.([a-zA-Z]+|\*))*$"
NUMBER: Final = {"type": "integer", "minimum": 0}


EPOCH: Final = query(
    "epoch",
    "The `epoch` that came with the position; another one is a 410 `cursor_ahead`: the log was restored.",
)
AFTER: Final = {"type": "string", "pattern": "^([0-9]{1,30}|now)$"}
FILTERS: Final = (
    query(
        "type",
        "Types, separated by commas; `agent.*` for all of agents.",
        type={"type": "string", "pattern": _TYPES},
    ),
    KIND,
    RESOURCE_ID,
    WORKSPACE,
    query("actor", "Only changes by this person or one of their keys."),
)
"""The filters of the feed and the stream."""


class EventViewSet(EditorViewSet):
    """The events of the log."""

    job = "Follow changes"
    subject = "event"
    query = {
        "list": (
            query(
                "after",
                "The events after this position, in order; `now` for none. Without it from the oldest on.",
                type=AFTER,
            ),
            EPOCH,
            query("before", "The events before this position, the newest first.", type=NUMBER),
            query(
                "limit",
                f"Up to {MAX_EVENTS}, {DEFAULT_LIMIT} when absent.",
                type={"type": "integer", "minimum": 1, "maximum": MAX_EVENTS},
            ),
            *FILTERS,
        )
    }
    responses = {"list": EventPage}

    def list(self, request: Request) -> Response:
        """Return events that the caller may see, and the start of the next page."""
        query = request.query_params
        after, before = position(query.get("after"), "after"), number(query.get("before"), "before")
        limit = query.get("limit", str(DEFAULT_LIMIT))
        if not _POSITION.fullmatch(limit) or not 1 <= int(limit) <= MAX_EVENTS:
            raise Invalid.field("limit", f"must be a whole number from 1 to {MAX_EVENTS}")
        page = get_editor().event.page(
            after=after,
            before=before,
            epoch=query.get("epoch"),
            limit=int(limit),
            by=self.caller,
            **read_filter(query)._asdict(),
        )
        return self.limit_page(
            with_etag(request, EventPage.dump(page)), "limit", together=itemgetter("position")
        )


def read_filter(query: QueryDict) -> EventFilter:
    """Return the filter that the query parameters describe; raises `Invalid` for types that do not exist."""
    types = query.get("type")
    return EventFilter(
        types=None if types is None else frozenset(matching(types.split(","))),
        resource_kind=query.get("kind"),
        resource_id=query.get("id"),
        workspace_id=query.get("workspaceId"),
        actor=query.get("actor"),
    )


def number(text: str | None, name: str) -> int | None:
    """Return the position in a parameter or header; raises `Invalid`."""
    if text is None:
        return None
    if not _POSITION.fullmatch(text):
        raise Invalid.field(name, "must be a position, a whole number from 0 on")
    return int(text)


def position(text: str | None, name: str) -> int | Now | None:
    """Return the position as `number` does, or `now`."""
    return "now" if text == "now" else number(text, name)
