"""The log of the editor in memory: what has changed, under positions that rise."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from editor_client.shared.errors import Invalid
from editor_client.testing.refusals import cursor_ahead

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000
_WORKSPACE_MADE: Final = 1  # a position that nobody reads about
PARAMETERS: Final = ("after", "before", "limit", "type", "kind", "id", "workspaceId", "actor")


def now() -> str:
    """Return the time as the server writes it."""
    return f"{datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')[:-6]}Z"


class Log:
    """Events, oldest first."""

    def __init__(self, username: str) -> None:
        self._events: list[dict[str, Any]] = []
        self._username = username
        self.key_prefix = ""
        """The beginning of the key with which the next change is made."""

    @property
    def newest(self) -> int:
        """The position of the last event."""
        return _WORKSPACE_MADE + len(self._events)

    def record(self, event_type: str, resource: Mapping[str, str], workspace_id: str, **about: Any) -> None:
        """Add an event; `about` are the members that apply, by JSON names."""
        self._events.append(
            {
                "position": self.newest + 1,
                "id": str(uuid.uuid4()),
                "type": event_type,
                "createdAt": now(),
                "workspaceId": workspace_id,
                "resource": dict(resource),
                "versionId": None,
                "versionNumber": None,
                "previousVersionId": None,
                "label": None,
                "actor": {"id": self._username, "via": "api", "keyPrefix": self.key_prefix},
                "detail": {},
                **about,
            }
        )

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of events, as `GET /events` does."""
        if "before" in query and "after" in query:
            raise Invalid.field("before", "cannot be combined with after")
        limit = _number(query, "limit", DEFAULT_LIMIT)
        if not 1 <= limit <= MAX_LIMIT:
            raise Invalid.field("limit", f"must be a whole number from 1 to {MAX_LIMIT}")
        found = [event for event in self._events if _matches(event, query)]
        if "before" in query:
            before, end = _number(query, "before", 0), 0
            found = [event for event in reversed(found) if event["position"] < before]
        else:
            after = self.newest if query.get("after") == "now" else _number(query, "after", 0)
            if after > self.newest:
                raise cursor_ahead(self.newest)
            found, end = [event for event in found if event["position"] > after], self.newest
        page = found[:limit]
        has_more = len(found) > len(page)
        return {"events": page, "next": page[-1]["position"] if has_more else end, "hasMore": has_more}


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal():
        raise Invalid.field(name, "must be a position, a whole number from 0 on")
    return int(text)


def _matches(event: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    types = query.get("type", "*").split(",")
    own = {
        "kind": event["resource"]["kind"],
        "id": event["resource"]["id"],
        "workspaceId": event["workspaceId"],
        "actor": event["actor"]["id"],
    }
    return any(fnmatchcase(event["type"], one) for one in types) and all(
        query.get(name, value) == value for name, value in own.items()
    )
