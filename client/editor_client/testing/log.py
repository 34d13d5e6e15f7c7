"""The log of the editor in memory."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from editor_client.shared.errors import Invalid
from editor_client.testing.protocol import Answer, Json, Refused, Request, number, route
from editor_client.testing.resources import now

FILTERS: Final = ("type", "kind", "id", "workspaceId", "actor")
MAX_LIMIT: Final = 1000
_WORKSPACE_MADE: Final = 1  # a position after which there are no events


class Log:
    """Events, in the order of changes."""

    def __init__(self) -> None:
        self._events: list[Json] = []
        self._epoch = uuid.uuid4().hex[:16]

    def add(self, event: Json) -> None:
        """Add an event; members that it lacks do not apply to it."""
        about = {"position": self._newest + 1, "id": str(uuid.uuid4()), "createdAt": now()}
        self._events.append({**about, "previousVersionId": None, "label": None, "detail": {}, **event})

    @property
    def _newest(self) -> int:
        return _WORKSPACE_MADE + len(self._events)

    def page(self, query: Mapping[str, str]) -> Json:
        """Return a page, as `GET /events` does."""
        if "before" in query and "after" in query:
            raise Invalid.field("before", "cannot be combined with after")
        limit = number(query, "limit", 100, "a position, ")
        if not 1 <= limit <= MAX_LIMIT:
            raise Invalid.field("limit", f"must be a whole number from 1 to {MAX_LIMIT}")
        found = [event for event in self._events if _matches(event, query)]
        if "before" in query:
            before, end = number(query, "before", 0, "a position, "), 0
            found = [event for event in reversed(found) if event["position"] < before]
        else:
            after, end = self._after(query), self._newest
            found = [event for event in found if event["position"] > after]
        page, has_more = found[:limit], len(found) > limit
        following = page[-1]["position"] if has_more else end
        return {"events": page, "next": following, "hasMore": has_more, "epoch": self._epoch}

    def _after(self, query: Mapping[str, str]) -> int:
        newest = self._newest
        after = newest if query.get("after") == "now" else number(query, "after", 0, "a position, ")
        if after > newest or query.get("epoch", self._epoch) != self._epoch:
            message = (
                "This position is of the log before an earlier state of it was restored; it ends at "
                f"{newest} now. Treat everything that you have as stale, and start again."
            )
            raise Refused(410, "cursor_ahead", message, newest=newest, epoch=self._epoch)
        return after


def _matches(event: Json, query: Mapping[str, str]) -> bool:
    about = {**event["resource"], "workspaceId": event["workspaceId"], "actor": event["actor"]["id"]}
    types = query.get("type", "*").split(",")
    return any(fnmatchcase(event["type"], one) for one in types) and all(
        query.get(name, value) == value for name, value in about.items()
    )


@route("GET", "/events", "after", "before", "epoch", "limit", *FILTERS)
def _events(editor: Any, request: Request) -> Answer:
    return Answer(editor.log.page(request.query))
