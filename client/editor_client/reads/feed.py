"""The events of the log, and following it: every event once and in order, by a stream or by polling."""

from __future__ import annotations

import datetime
import json
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from editor_client.calls import Answer, Query, Request, ResourceKind, Source, query, reading
from editor_client.errors import (
    CursorAhead,
    CursorExpired,
    RateLimited,
    ServerError,
    Unauthorized,
    from_answer,
    malformed,
)
from editor_client.reads.exchange import (
    NEVER,
    CloseStream,
    Flow,
    NoAnswer,
    OpenStream,
    ReadStream,
    Send,
    Sleep,
    failure,
    unreachable,
)
from editor_client.reads.streams import WholePositions
from editor_client.result import Result

After = int | Literal["now"] | None
"""A position of the log; `now` for its end, None for the oldest event that it still has."""


class Reference(Result):
    """The resource that an event is about."""

    kind: ResourceKind
    id: str


class Actor(Result):
    """The actor of a change, and the means; without a name for the application itself."""

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
    """Belongs to `next`: send both. After an earlier state of the server was restored, the epoch changes, and
    the earlier one raises `CursorAhead`. Empty for a server without epochs."""


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
    params: dict[str, Any] = dict(filters)
    types = params.pop("type", None)
    if types is not None:
        params["type"] = types if isinstance(types, str) else ",".join(types)
    return query(**params)


def read_event(data: bytes) -> LogEvent:
    """Return an event of a stream; raises `ServerError` if it is invalid."""
    try:
        return LogEvent.of(json.loads(data))
    except (ValueError, RecursionError):
        raise malformed("an event is not JSON") from None


logger = logging.getLogger("editor_client")

POLL_SECONDS = 0.95
"""The interval of polling: a change is then seen within a second."""
POLL_HOLDS_SECONDS = 2.0
"""The seconds for which a poll counts as complete, even if the next poll is not sent."""
ANSWER_SECONDS = 5.0
"""The time limit of a poll, and of opening a stream."""
FIRST_BYTE_SECONDS = 5.0
"""A server sends its first bytes immediately; after this time without a byte, a proxy is buffering."""
SILENCE_SECONDS = 20.0
"""A stream that is silent for longer is broken: the server sends a comment every 15 seconds."""
RETRY_STREAM_SECONDS = 60.0
"""The pause before another attempt at a stream that could not be opened."""
PAGE = 1000
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.1, 0.8
"""The pauses between attempts to reach a server that is down."""
MAX_WAIT_SECONDS = 60.0
"""The longest wait that a server can request."""
LOST = (NoAnswer, ServerError, RateLimited)
"""Errors after which an answer may come later."""

OK, GONE = 200, 410
_read_page = reading(EventPage)


@dataclass(frozen=True, slots=True)
class Batch:
    """The next events."""

    events: tuple[LogEvent, ...] = ()
    begins: bool = False
    """Whether the connection is new, so that earlier events may have been missed."""
    until: float | None = None
    """The time until which the listener is up to date without further events; None if unchanged."""


class Feed:
    """The events after a position, for one listener. The caller closes `stream` when it stops listening.

    Before a stream begins, and instead of one, the log is polled for events after the position. `timeout` and
    the clock are in seconds.
    """

    def __init__(
        self, clock: Callable[[], float], *, after: After, filters: Query, streamed: bool, timeout: float
    ) -> None:
        self.position: After = after
        """All events up to here have been returned."""
        self.epoch = ""
        """The epoch of the position, once a page has it; empty for servers without epochs."""
        self.stream: Any = None
        self.rights = ""
        """The rights in the latest answer; empty without any."""
        self._clock = clock
        self._filters = filters
        self._limit = PAGE
        self._seconds = min(timeout, ANSWER_SECONDS)
        self._streamed = streamed
        self._stream_due = NEVER
        self._poll_due = NEVER
        self._is_connected = False
        self._is_told = False
        """Whether the missing stream was already logged."""
        self._has_caught_up = False
        self._reset(0)

    def next(self) -> Flow[Batch]:
        """Wait for the next events; raises `NoAnswer` and errors, after which it may be called again."""
        if self.stream is not None:
            return (yield from self._listen(self.stream))
        if self._streamed and self._has_caught_up and self._clock() >= self._stream_due:
            return (yield from self._open())
        return (yield from self._ask())

    def start_at(self, position: After) -> None:
        """Continue at another position, in the current epoch of the log."""
        self.position, self.epoch = position, ""
        self._is_connected = self._has_caught_up = False
        self._reset(0)

    # Polling

    def _ask(self) -> Flow[Batch]:
        begins, self._is_connected, self._has_caught_up = not self._is_connected, False, False
        pause = self._poll_due - self._clock()
        if pause > 0:
            yield Sleep(pause)
        requested_at, self._poll_due = self._clock(), NEVER
        request = Request("GET", "/events", (*self._place(), ("limit", str(self._limit))))
        answer: Answer = yield Send(request, requested_at + self._seconds)
        self.rights = answer.rights
        if answer.status != OK:
            error = failure(answer)
            if error.code != "page_too_large":
                raise error
            self._limit, self._poll_due = error.details["limit"], requested_at
            return (yield from self._ask())
        page, self._limit = _read_page(answer), PAGE
        events = tuple(event for event in page.events if event.id not in self._seen)
        self.position, self.epoch = page.next, page.epoch
        self._reset(page.next)
        self._is_connected = True
        if page.has_more:
            return Batch(events, begins)
        self._has_caught_up, self._poll_due = True, requested_at + POLL_SECONDS
        return Batch(events, begins, requested_at + POLL_HOLDS_SECONDS)

    def _place(self) -> Query:
        epoch: Query = (("epoch", self.epoch),) if self.epoch else ()
        after: Query = () if self.position is None else (("after", str(self.position)),)
        return (*self._filters, *after, *epoch)

    # The stream

    def _open(self) -> Flow[Batch]:
        self._has_caught_up = False
        request = Request("GET", "/events/stream", self._place())
        try:
            opened = yield OpenStream(request, self._clock() + self._seconds)
        except NoAnswer as error:
            if not error.sent:
                self._is_connected = False
                raise
            self._do_without(error.reason)
            return Batch()
        self.rights = opened.rights
        if not isinstance(opened, Answer):
            self.stream, self._lines, self._has_heard = opened, WholePositions(), False
            return Batch()
        refusal = failure(opened)
        if isinstance(refusal, CursorAhead | CursorExpired | Unauthorized):
            self._is_connected = False
            raise refusal
        reason = "the answer is not a stream" if opened.status == OK else f"{opened.status} {refusal.code}"
        self._do_without(reason, refusal.retry_after)
        return Batch()

    def _listen(self, stream: Any) -> Flow[Batch]:
        silence = SILENCE_SECONDS if self._has_heard else FIRST_BYTE_SECONDS
        try:
            piece: bytes = yield ReadStream(stream, self._clock() + silence)
            events = tuple(self._new(map(read_event, self._lines.feed(piece))))
            lost = None
        except (NoAnswer, ServerError) as error:
            piece, events = b"", ()
            lost = error if isinstance(error, NoAnswer) and not error.in_time else None
        if self._lines.error is not None:
            yield CloseStream(stream)
            self.stream, self._is_connected = None, False
            raise from_answer(GONE, self._lines.error)
        if piece:
            self._has_heard, self._is_told = True, False
            return Batch(events, until=self._clock() + SILENCE_SECONDS)
        yield CloseStream(stream)
        self.stream, self._is_connected = None, False
        if not self._has_heard:
            self._do_without("nothing comes through")
        elif lost is not None:
            raise lost
        return Batch(until=NEVER)

    def _do_without(self, reason: str, retry_after: float | None = None) -> None:
        """Poll instead, and try the stream again later, at a random time to spread clients."""
        pause = max(RETRY_STREAM_SECONDS, retry_after or 0)
        self._stream_due = self._clock() + pause * random.uniform(1, 1.5)  # noqa: S311  no secret
        if not self._is_told:
            logger.warning("events cannot be streamed (%s): polling once a second instead", reason)
        self._is_told = True

    # Returned events

    def _new(self, events: Iterable[LogEvent]) -> Iterator[LogEvent]:
        """Record the events of a stream, and yield new ones.

        A stream can break off between two events of one position. So a position counts as read when a later
        one begins, and repeated events are recognized by their ids.
        """
        for event in events:
            if event.position > self._last:
                self.position = self._last
                self._reset(event.position)
            self._seen.add(event.id)
            yield event

    def _reset(self, position: int) -> None:
        self._last = position
        self._seen: set[str] = set()


class Outage:
    """An outage: the pauses between attempts, and one line in the log."""

    def __init__(self) -> None:
        self.attempts = 0

    def record_failure(self, error: Exception, consequence: str) -> float:
        """Record a failure, and return the seconds until the next attempt."""
        self.attempts += 1
        if self.attempts == 1:
            sentence = str(error)
            full_stop = "" if sentence.endswith((".", "!", "?")) else "."
            logger.warning("events cannot be read: %s%s %s", sentence, full_stop, consequence)
        pause = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self.attempts - 1, 10))
        retry_after = min(error.retry_after or 0, MAX_WAIT_SECONDS) if isinstance(error, RateLimited) else 0
        # Random, so that many clients that lost the server together do not return at the same time.
        return max(retry_after, pause * random.uniform(0.5, 1))  # noqa: S311  no secret

    def over(self) -> None:
        """Record an answer."""
        if self.attempts:
            logger.info("events are read again")
        self.attempts = 0


class Listener(Source[LogEvent]):
    """The events of the log for an application. Reconnects automatically, without gaps or repetitions."""

    def __init__(
        self, clock: Callable[[], float], timeout: float, retries: int, after: After, filters: EventFilters
    ) -> None:
        epoch, filters = filters.get("epoch", ""), {**filters}
        filters.pop("epoch", None)
        self.feed = Feed(clock, after=after, filters=event_query(filters), streamed=True, timeout=timeout)
        self.feed.epoch = epoch
        self._after = after
        self._retries = retries
        self._outage = Outage()
        self._has_begun = False

    def next(self) -> Flow[tuple[LogEvent, ...]]:
        """Wait for the next events and return them, or none after a while.

        Raises `CursorExpired` if requested events have been removed, `CursorAhead` if the log ends before the
        last returned event, errors such as `Unauthorized`, and `Unreachable` or `ServerError` if the first
        connection fails.
        """
        try:
            batch = yield from self.feed.next()
        except (CursorAhead, CursorExpired) as error:
            if self._after != "now":
                raise
            begin = error.newest if isinstance(error, CursorAhead) else error.oldest
            logger.warning("%s Some events are missed; those from %s on are not.", error, begin)
            self.feed.start_at(begin)
        except LOST as error:
            pause = self._outage.record_failure(error, "The client retries until a server answers.")
            if not self._has_begun and self._outage.attempts > self._retries:
                if isinstance(error, NoAnswer):
                    raise unreachable(error) from error
                raise
            yield Sleep(pause)
        else:
            self._has_begun = True
            self._outage.over()
            return batch.events
        return ()
