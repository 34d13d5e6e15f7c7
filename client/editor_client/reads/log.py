"""The events of the log: what was changed, when, and by whom."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypedDict

from editor_client.calls import Query, ResourceKind, query
from editor_client.errors import malformed
from editor_client.result import Result

After = int | Literal["now"] | None
"""A position of the log; `now` for its end, None for the oldest event that it still has."""


class Reference(Result):
    """The resource that an event is about."""

    kind: ResourceKind
    id: str


class Actor(Result):
    """Who made a change, and how; without a name if it was the application itself."""

    id: str | None = None
    via: Literal["studio", "api", "python", "schedule", "command", "file"]
    key_prefix: str | None = None


class LogEvent(Result):
    """A change. Members that do not apply are None."""

    position: int
    """Positions are in the order of commits; events of one commit can share one."""
    id: str
    type: str
    """For example `agent.published`."""
    created_at: datetime.datetime
    workspace_id: str | None = None
    resource: Reference | None = None
    version_id: str | None = None
    version_number: int | None = None
    previous_version_id: str | None = None
    label: str | None = None
    actor: Actor
    detail: Mapping[str, Any] = field(default_factory=dict)


class EventPage(Result):
    """A page of the log."""

    events: tuple[LogEvent, ...]
    next: int
    """The start of the next page: `after` for later events, `before` when going back."""
    has_more: bool
    epoch: str = ""
    """Belongs to `next`: give both back. After the server was put back to an earlier state, it has another
    one, and the earlier one raises `CursorAhead`. Empty if the server is older than epochs."""


class EventFilters(TypedDict, total=False):
    """Filters of events, all of which must match."""

    type: str | Sequence[str]
    """Types, such as `agent.published`; `agent.*` matches all types of agents."""
    kind: ResourceKind
    id: str
    workspace_id: str
    actor: str
    epoch: str
    """The `epoch` of the page that `after` comes from."""


class EventList(EventFilters, total=False):
    """The arguments of a page of the log."""

    after: After
    before: int
    limit: int


def event_query(filters: EventList | EventFilters) -> Query:
    """Return filters, and the position of a page, as query parameters."""
    given: dict[str, Any] = dict(filters)
    types = given.pop("type", None)
    if types is not None:
        given["type"] = types if isinstance(types, str) else ",".join(types)
    return query(**given)


def read_event(data: bytes) -> LogEvent:
    """Return an event of a stream; raises `ServerError` if it is invalid."""
    try:
        return LogEvent.of(json.loads(data))
    except (ValueError, RecursionError):
        raise malformed("an event is not JSON") from None
