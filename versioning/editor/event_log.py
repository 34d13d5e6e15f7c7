"""Read the log: changes since a position."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from django.db.models import Q, QuerySet

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.errors import CursorAhead, CursorExpired, Invalid
from versioning.editor.resources import Who, caller_of
from versioning.models import Event, events
from versioning.models.events import Extent
from versioning.serving.event_visibility import visible_to

MAX_EVENTS: Final = 1000
"""The largest page of events that can be requested."""

Now = Literal["now"]


class EventFilter(NamedTuple):
    """Which events to return; None matches any.

    No event matches for a workspace that the caller may not read or that does not exist.
    """

    types: frozenset[str] | None = None
    resource_kind: str | None = None
    resource_id: str | None = None
    workspace_id: str | None = None
    actor: str | None = None

    def may_match(self, caller: Caller) -> bool:
        """Return whether the caller may see any matching event at all."""
        return self.workspace_id is None or caller.may(Right.READ, self.workspace_id)

    def narrow(self, rows: QuerySet[Event]) -> QuerySet[Event]:
        """Return the matching rows."""
        if self.types is not None:
            rows = rows.filter(type__in=self.types)
        return rows.filter(**self._equal)

    def admits(self, event: Event) -> bool:
        """Return whether one entry matches, without the database."""
        is_of_type = self.types is None or event.type in self.types
        return is_of_type and all(getattr(event, name) == value for name, value in self._equal.items())

    @property
    def _equal(self) -> dict[str, str]:
        """The columns with their required values."""
        columns = self._asdict()
        del columns["types"]
        return {name: value for name, value in columns.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class EventPage:
    """A page of the log."""

    events: list[Event]
    next: int
    """The start of the next page: the value for `after`, or for `before` when going back."""
    has_more: bool
    """Whether there are further events that the caller may read."""
    epoch: str
    """The epoch of the log, which a reader sends along with its position."""


class EventLog:
    """The log, as callers may read it."""

    def __init__(self, code: Registry) -> None:
        self.code = code

    def start(self, after: int | Now | None, epoch: str | None = None) -> tuple[int, str]:
        """Return the position after which to read, and the epoch; None is the oldest, `now` the end.

        A position beyond the end is returned unchanged. Raises `CursorExpired` if entries after the position
        were pruned, and `CursorAhead` if the log has another epoch than the given one.
        """
        extent = events.extent()
        return _start(extent, after, epoch), extent.epoch

    def page(
        self,
        *,
        after: int | Now | None = None,
        before: int | None = None,
        epoch: str | None = None,
        limit: int = 100,
        where: Q | None = None,
        fields: Collection[str] = (),
        by: Who = APPLICATION,
        **filters: Any,
    ) -> EventPage:
        """Return the events after a position, oldest first; without one, from the beginning.

        With `before`, returns the events before that position, newest first. `filters` are fields of
        `EventFilter`, and `where` is a further condition. Only these `fields` of the events are read, if any
        are named. Entries at the same position stay together, so a page may be longer than `limit`. Raises
        `CursorExpired` if entries after the position were pruned, `CursorAhead` if the log ends before it or
        has another epoch, and `Invalid` for both positions.
        """
        if before is not None and after is not None:
            raise Invalid.field("before", "cannot be combined with after")
        caller, only = caller_of(by), EventFilter(**filters)
        extent = events.extent()
        start = _start(extent, after, epoch)
        if start > extent.newest:
            raise CursorAhead(extent.newest, extent.epoch)
        if not only.may_match(caller):
            end = extent.oldest if before is not None else extent.newest
            return EventPage(events=[], next=end, has_more=False, epoch=extent.epoch)
        rows = visible_to(caller, self.code, only.narrow(Event.objects.filter(where or Q())))
        rows = rows.only(*fields) if fields else rows
        if before is not None:
            last = min(before - 1, extent.newest)
            rows = rows.filter(position__gt=extent.oldest, position__lte=last)
            return _page(rows.order_by("-position", "ordinal"), limit, end=extent.oldest, epoch=extent.epoch)
        if start == extent.newest:
            return EventPage(events=[], next=extent.newest, has_more=False, epoch=extent.epoch)
        # Events committed in the meantime are not on this page, but after its `next`.
        rows = rows.filter(position__gt=start, position__lte=extent.newest)
        return _page(rows.order_by("position", "ordinal"), limit, end=extent.newest, epoch=extent.epoch)


def _start(extent: Extent, after: int | Now | None, epoch: str | None) -> int:
    if epoch is not None and epoch != extent.epoch:
        raise CursorAhead(extent.newest, extent.epoch)
    start = extent.newest if after == "now" else extent.oldest if after is None else int(after)
    if start < extent.oldest:
        raise CursorExpired(extent.oldest)
    return start


def _page(rows: QuerySet[Any], limit: int, *, end: int, epoch: str) -> EventPage:
    """Return a page of the rows; `end` is its `next` if there are no more."""
    page_rows = list(rows[: limit + 1])
    if len(page_rows) <= limit:
        return EventPage(events=page_rows, next=end, has_more=False, epoch=epoch)
    last = page_rows[limit - 1].position
    if page_rows[limit].position == last:
        whole = [event for event in page_rows if event.position != last] + list(rows.filter(position=last))
        beyond = rows[len(whole) : len(whole) + 1]
        if not beyond:
            return EventPage(events=whole, next=end, has_more=False, epoch=epoch)
        return EventPage(events=whole, next=last, has_more=True, epoch=epoch)
    return EventPage(events=page_rows[:limit], next=last, has_more=True, epoch=epoch)
