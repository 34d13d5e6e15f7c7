"""The methods of a client for the log: a page of it, and events as they happen."""

from __future__ import annotations

from typing import Unpack

from editor_client.calls import Call, reading
from editor_client.methods import Driver, iterator, method
from editor_client.reads.feed import Listener
from editor_client.reads.flows import Flows
from editor_client.reads.log import After, EventFilters, EventList, EventPage, event_query


class LogMethods(Driver):
    """The methods of a client for the log."""

    _flows: Flows

    @method
    def list_events(self, **filters: Unpack[EventList]) -> Call[EventPage]:
        """Return a page of the log, from the oldest event on; `after` and `before` set its beginning.

        Raises `CursorExpired` if events after the position have been removed, and `CursorAhead` if the log
        ends before it or has another epoch.
        """
        return Call.to("GET", "/events", reading(EventPage), query=event_query(filters))

    @iterator
    def events(self, after: After = "now", **filters: Unpack[EventFilters]) -> Listener:
        """Yield the events of the log after a position, as they happen, until the client is closed.

        They come over a stream or, if there is none, by polling once a second. Lost connections are reopened;
        no event is missed or repeated. Raises `CursorExpired` if events after the position have been removed,
        `CursorAhead` if it is of the log before an earlier state was restored, errors such as
        `Unauthorized`, and `Unreachable` if the first connection fails.
        """
        return self._flows.listener(after, filters)
