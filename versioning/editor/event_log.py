"""Read the log: what has changed since a position."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.db.models import Q, QuerySet

from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import CursorExpired, Invalid
from versioning.domain.registry import Registry
from versioning.editor.resources import Who, caller_of
from versioning.models import Event, events
from versioning.serving.event_visibility import visible_to

MAX_EVENTS: Final = 1000
"""The largest page of events that can be requested."""

Now = Literal["now"]


@dataclass(frozen=True, kw_only=True)
class EventPage:
    """A page of the log."""

    events: list[Event]
    next: int
    """The start of the next page: the value for `after`, or for `before` when going back."""
    has_more: bool
    """Whether there are further events that the caller may read."""


class EventLog:
    """The log, as callers may read it."""

    def __init__(self, code: Registry) -> None:
        self.code = code

    def page(
        self,
        *,
        after: int | Now | None = None,
        before: int | None = None,
        limit: int = 100,
        types: Collection[str] | None = None,
        workspace_id: str | None = None,
        where: Q | None = None,
        by: Who = APPLICATION,
        **named: str | None,
    ) -> EventPage:
        """Return the events after a position, oldest first; without one, from the oldest on.

        With `before`, returns the events before that position, newest first. `types` and `named`
        (`resource_kind`, `resource_id`, `actor`) filter them, and so does `where`, any further condition.
        Entries at the same position stay together, so a page may be longer than `limit`. Raises
        `CursorExpired` if entries after the position were pruned, and `Invalid` if both positions are given.
        """
        if before is not None and after is not None:
            raise Invalid.field("before", "cannot be combined with after")
        caller = caller_of(by)
        extent = events.extent()
        start = extent.newest if after == "now" else extent.oldest if after is None else int(after)
        if start < extent.oldest:
            raise CursorExpired(extent.oldest)
        if workspace_id is not None and not caller.may(Right.READ, workspace_id):
            return EventPage(
                events=[], next=extent.oldest if before is not None else extent.newest, has_more=False
            )
        narrowed = {name: value for name, value in named.items() if value is not None}
        if workspace_id is not None:
            narrowed["workspace_id"] = workspace_id
        rows = visible_to(caller, self.code, Event.objects.filter(where or Q(), **narrowed))
        if types is not None:
            rows = rows.filter(type__in=types)
        if before is not None:
            last = min(before - 1, extent.newest)
            rows = rows.filter(position__gt=extent.oldest, position__lte=last)
            return _page(rows.order_by("-position", "ordinal"), limit, end=extent.oldest)
        if start >= extent.newest:
            return EventPage(events=[], next=extent.newest, has_more=False)
        # What is committed meanwhile is not on this page, but after its `next`.
        rows = rows.filter(position__gt=start, position__lte=extent.newest)
        return _page(rows.order_by("position", "ordinal"), limit, end=extent.newest)


def _page(rows: QuerySet[Any], limit: int, *, end: int) -> EventPage:
    """Return a page of the rows; `end` is its `next` if there are no more."""
    found = list(rows[: limit + 1])
    if len(found) <= limit:
        return EventPage(events=found, next=end, has_more=False)
    last = found[limit - 1].position
    if found[limit].position == last:
        whole = [event for event in found if event.position != last] + list(rows.filter(position=last))
        beyond = rows[len(whole) : len(whole) + 1]
        if not beyond:
            return EventPage(events=whole, next=end, has_more=False)
        return EventPage(events=whole, next=last, has_more=True)
    return EventPage(events=found[:limit], next=last, has_more=True)
