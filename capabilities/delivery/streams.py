"""Streams of events: from the log to the clients that follow it.

Each open stream gets the events that match its filter and that its listener may see. New entries are read
once for all streams, and their visibility is queried once for all listeners with the same rights. A stream
that is behind, because it was resumed or its client is slow, gets pages of the log like those of
`GET /events` until it has caught up.

A client resumes after the last `id` that it has received. Entries that share a position are sent together,
and only the last of them has the `id`: a client that loses the connection between them gets all of them
again.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.db import Error, close_old_connections, connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from rest_framework.authentication import get_authorization_header
from rest_framework.request import Request

from versioning.api.errors import error_body
from versioning.api.schemas import CompactJSONRenderer, EventAnswer
from versioning.capabilities import session_store
from versioning.conf import get_editor
from versioning.domain import telemetry
from versioning.domain.access import Caller, Via
from versioning.domain.errors import CursorAhead, CursorExpired, VersioningError
from versioning.editor.event_log import EventFilter
from versioning.models import ApiKey, Event, caller_for, events, log_position
from versioning.models.accounts import accounts
from versioning.models.followers import Follower
from versioning.models.keys import hash_secret
from versioning.serving.event_visibility import visible_to
from versioning.serving.followed_keys import bearer_key
from versioning.serving.followed_log import RIGHTS, Moment, log


class Rights(NamedTuple):
    """The rights of a listener."""

    caller: Caller
    expire_at: datetime.datetime | None = None
    """When they expire."""


@dataclass(frozen=True)
class KeyListener:
    """A program with an API key."""

    digest: str

    def rights(self) -> Rights | None:
        """Read the rights of the key; None if it is unknown, expired or revoked."""
        key = ApiKey.objects.find_by_digest(self.digest)
        return None if key is None else Rights(key.caller(), key.usable_until)


@dataclass(frozen=True)
class PersonListener:
    """A person who is signed in to the studio."""

    user_id: Any
    session: str

    def rights(self) -> Rights | None:
        """Read the rights of the person; None if signed out, deactivated, or after a password change."""
        user = accounts().filter(pk=self.user_id).first()
        if user is None or not user.is_active:
            return None
        # Django's `get_user` would give a session from before a change of SECRET_KEY another id.
        stored_hash = session_store()(self.session).get(HASH_SESSION_KEY, "")
        hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
        is_valid = any(constant_time_compare(stored_hash, session_hash) for session_hash in hashes)
        return Rights(caller_for(user, Via.API)) if is_valid else None


Listener = KeyListener | PersonListener
"""The listener of a stream. Streams of equal listeners share their rights."""


def make_listener(request: Request) -> Listener:
    """Return the listener for an authenticated request."""
    text = bearer_key(get_authorization_header(request).decode("latin-1"))
    if text is not None:
        return KeyListener(hash_secret(text))
    session = request._request.session  # noqa: SLF001  REST framework hands over no sessions
    return PersonListener(request.user.pk, session.session_key or "")


def _note_sign_out(*, instance: Any, **_signal: Any) -> None:
    # Expired sessions are removed in bulk; their listeners have already lost access.
    if instance.expire_date > timezone.now() and SESSION_KEY in instance.get_decoded():
        events.touch()


FOLLOWER: Final = Follower(call=_note_sign_out, rows="sessions.Session")


COMMENT: Final = b": nothing new\n\n"
"""Keeps the connection alive."""


def last_words(error: VersioningError) -> bytes:
    """Return the event `error` that ends a stream; its data is the body of an error."""
    return b"event: error\ndata: %s\n\n" % CompactJSONRenderer().render(error_body(error))


class Frames:
    """The text of each event, rendered once for all streams that get it."""

    def __init__(self) -> None:
        self._data: dict[int, bytes] = {}

    def of(self, events: Sequence[Event]) -> bytes:
        """Return the events as they are sent; they are in order and include all that share a position."""
        frames = []
        for position, together in groupby(events, key=attrgetter("position")):
            *earlier, last = together
            frames += [*map(self._text, earlier), b"id: %d\n" % position, self._text(last)]
        return b"".join(frames)

    def _text(self, event: Event) -> bytes:
        text = self._data.get(event.pk)
        if text is None:
            # JSON has no line break in it, so the data is one line.
            text = b"data: %s\n\n" % CompactJSONRenderer().render(EventAnswer.dump(event))
            self._data[event.pk] = text
        return text


HEARTBEAT: Final = 10.0
"""Seconds without events after which a comment is sent."""

HEARTBEAT_OF_A_THREAD: Final = 2.0
"""The same for a stream in a thread, which notices a disconnected client only when it sends."""

LIFETIME: Final = 600.0
"""Seconds after which a stream ends."""

MAX_PENDING: Final = 256 * 1024
"""The maximum number of bytes pending for a slow client; later events are read from the log when it catches
up."""


class Subscription:
    """A stream, shared by the thread that follows the log and the server that sends.

    It is the content of one response; subclasses define how that is iterated.
    """

    heartbeat = HEARTBEAT

    def __init__(
        self, listener: Listener, only: EventFilter, position: int, epoch: str, *, has_role: bool
    ) -> None:
        self.listener = listener
        self.only = only
        self.position = position
        """Everything up to it was distributed, or did not match the filter."""
        self.epoch = epoch
        """The epoch of the log when the stream began."""
        self.has_role = has_role
        """Whether the listener had a role when last checked: losing the last one ends the stream."""
        self.caller: Caller = Caller()
        """The listener with its rights when last checked."""
        self.on_start: Callable[[], object] = lambda: None
        self.on_close: Callable[[Subscription], object] = lambda _: None
        self._lock = threading.Lock()
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._ended = False
        self._last = b""
        self._notify: Callable[[], object] = lambda: None
        self._ends_at = time.monotonic() + LIFETIME

    @property
    def is_waiting(self) -> bool:
        """Whether there are events that were not sent yet."""
        return self._pending_bytes > 0

    @property
    def is_full(self) -> bool:
        """Whether the client must read before it gets more."""
        return self._pending_bytes >= MAX_PENDING

    def push(self, content: bytes) -> None:
        """Append bytes to send."""
        with self._lock:
            self._pending.append(content)
            self._pending_bytes += len(content)
        self._notify()

    def end(self, last: bytes = b"") -> None:
        """End the stream: send only `last`, discarding pending bytes."""
        self._last = last
        self._ended = True
        self._notify()

    def close(self) -> None:
        """Mark the response as ended."""
        self._ended = True
        self.on_close(self)

    @property
    def _is_idle(self) -> bool:
        """Whether there is nothing to do; read it after clearing the event that `_notify` sets."""
        return not self.is_waiting and not self._ended

    def _pause(self) -> float:
        """Return the seconds until the next heartbeat; 0 if the stream has ended."""
        remaining = 0 if self._ended else self._ends_at - time.monotonic()
        return max(0, min(remaining, self.heartbeat))

    def _take(self) -> bytes:
        """Return the pending bytes; a comment if there are none."""
        with self._lock:
            pending, self._pending, self._pending_bytes = self._pending, [], 0
        return b"".join(pending) or COMMENT


class AsyncSubscription(Subscription):
    """A stream that an event loop sends, so that it takes no thread."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes to send."""
        ready, loop = asyncio.Event(), asyncio.get_running_loop()
        self._notify = lambda: loop.call_soon_threadsafe(ready.set)
        self.on_start()
        yield COMMENT
        while (pause := self._pause()) > 0:
            ready.clear()
            if self._is_idle:
                timer = loop.call_later(pause, ready.set)
                await ready.wait()
                timer.cancel()
            if not self._ended:
                yield self._take()
        if self._last:
            yield self._last


class BlockingSubscription(Subscription):
    """A stream that a thread sends, for servers without an event loop."""

    heartbeat = HEARTBEAT_OF_A_THREAD

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes to send."""
        ready = threading.Event()
        self._notify = ready.set
        self.on_start()
        yield COMMENT
        while (pause := self._pause()) > 0:
            ready.clear()
            if self._is_idle:
                ready.wait(pause)
            if not self._ended:
                yield self._take()
        if self._last:
            yield self._last


MAX_ENTRIES: Final = 1000
"""The number of entries read at a time."""

PAGE: Final = 200
"""The number of events that a stream gets at a time while it is behind."""

CATCHING_UP: Final = 0.05
"""The seconds of a turn for the streams that are behind; the others are served by a later turn."""

StreamGroup = tuple[Caller, EventFilter, int, list[Subscription]]
"""Streams at the same position, with the same filter, whose listeners have the same rights."""


class DatabaseSilent(Exception):
    """The database does not return the position of the log."""


class FanOut:
    """Distributes the log to streams, and knows the position of those that are up to date."""

    def __init__(self) -> None:
        self._rights: dict[Listener, tuple[Rights | None, Moment]] = {}
        self._position: int | None = None

    def turn(self, streams: Sequence[Subscription]) -> bool:
        """Distribute new entries; return whether there are more that can be distributed now.

        Raises `DatabaseSilent`, or an error of the database; then the next turn begins where this one did.
        """
        newest = log_position.position()
        # In this order, so that an entry is checked against rights that are at least as recent.
        now = log.follow()
        if newest is None or now is None:
            raise DatabaseSilent
        listening = self._end_without_access(streams, now)
        # An earlier state of the database was restored: these streams have sent events that no longer exist.
        for stream in [stream for stream in listening if stream.position > newest]:
            stream.end(last_words(CursorAhead(newest, events.extent().epoch)))
        listening = [stream for stream in listening if stream.position <= newest]
        if self._position is None or newest < self._position:
            self._position = newest
        elif newest > self._position:
            self._position = _hand_over(listening, self._position, newest)
        return _catch_up(listening, self._position) or self._position < newest

    def _end_without_access(self, streams: Sequence[Subscription], now: Moment) -> list[Subscription]:
        """Return the streams that may continue; end those whose listener no longer has access.

        Rights are read again whenever they may have changed. A listener that loses its last role has no
        access. One that never had a role, and gets only public events, may continue.
        """
        earlier_rights, self._rights = self._rights, {}
        listening = []
        for stream in streams:
            listener = stream.listener
            if listener not in self._rights:
                rights, read = earlier_rights.get(listener, (None, now))
                if (
                    rights is None
                    or (rights.expire_at is not None and rights.expire_at <= timezone.now())
                    or not log.is_right(read, (RIGHTS,), now)
                ):
                    rights, read = listener.rights(), now
                self._rights[listener] = rights, read
            current = self._rights[listener][0]
            has_role = current is not None and current.caller.has_role
            if current is None or (stream.has_role and not has_role):
                stream.end()
            else:
                stream.has_role, stream.caller = has_role, current.caller
                listening.append(stream)
        return listening


def _hand_over(listening: Sequence[Subscription], after: int, until: int) -> int:
    """Distribute the entries between two positions; return the position that was reached."""
    entries = events.entries(after, MAX_ENTRIES)
    if len(entries) >= MAX_ENTRIES:
        until = min(until, entries[-1].position)
    extent = events.extent()
    for stream in [stream for stream in listening if stream.epoch != extent.epoch]:
        stream.end(last_words(CursorAhead(extent.newest, extent.epoch)))
    listening = [stream for stream in listening if stream.epoch == extent.epoch]
    if extent.oldest > after:  # pruned at this moment, so some may be missing
        end_all(listening)
        return until
    by_rights: dict[object, list[StreamGroup]] = defaultdict(list)
    for group in _group([stream for stream in listening if stream.position >= after]):
        by_rights[group[0].rights].append(group)
    frames = Frames()
    for groups in by_rights.values():
        visible: set[int] | None = None
        for caller, only, position, streams in groups:
            matching = [
                entry for entry in entries if position < entry.position <= until and only.admits(entry)
            ]
            if matching and only.may_match(caller):
                if visible is None:
                    rows = Event.objects.filter(position__gt=after, position__lte=until)
                    keys = visible_to(caller, get_editor().code, rows).order_by().values_list("pk", flat=True)
                    visible = set(keys)
                _push(streams, frames.of([entry for entry in matching if entry.pk in visible]))
            for stream in streams:
                stream.position = max(position, until)
    return until


def _catch_up(listening: Sequence[Subscription], until: int) -> bool:
    """Give each stream that is behind a page; return whether any of them can take another."""
    groups = list(_group([stream for stream in listening if stream.position < until]))
    random.shuffle(groups)  # in a fixed order the last ones might never get their turn
    deadline = time.monotonic() + CATCHING_UP
    is_behind = False
    for caller, only, position, streams in groups:
        if time.monotonic() > deadline:
            return True
        try:
            page = get_editor().event.page(after=position, limit=PAGE, by=caller, **only._asdict())
        except CursorExpired:  # the client gets the error when it reconnects
            end_all(streams)
            continue
        except CursorAhead:  # restored at this moment: the next turn ends the stream
            continue
        reached = min(page.next, until)
        _push(streams, Frames().of([event for event in page.events if event.position <= reached]))
        for stream in streams:
            stream.position = reached
        is_behind = is_behind or reached < until
    return is_behind


def _group(listening: Iterable[Subscription]) -> Iterable[StreamGroup]:
    """Group the streams that get the same events, without those whose clients must read first."""
    groups: dict[tuple[object, EventFilter, int], StreamGroup] = {}
    for stream in listening:
        if not stream.is_full:
            key = (stream.caller.rights, stream.only, stream.position)
            groups.setdefault(key, (stream.caller, stream.only, stream.position, []))[-1].append(stream)
    return groups.values()


def _push(streams: Iterable[Subscription], content: bytes) -> None:
    if content:
        for stream in streams:
            stream.push(content)


def end_all(streams: Iterable[Subscription]) -> None:
    """End streams; their clients reconnect."""
    for stream in streams:
        stream.end()


LOOK_EVERY: Final = 0.25
"""Seconds between two checks of the log."""

PAUSE: Final = 0.05
"""Seconds between two turns while a stream is behind, in which other threads run."""

LOST_AFTER: Final = 5.0
"""Streams end after this many seconds without an answer of the database, since they may miss events."""

logger = logging.getLogger(__name__)


SHARE: Final = 10
"""A person may have at most one in this many streams of a process, so that some remain for others."""


class TooManyStreams(VersioningError):
    """The process or the person has reached the maximum number of open streams."""

    code = "too_many_streams"

    def __init__(self, *, is_yours: bool = False) -> None:
        whose = (
            ("You have reached the limit of open streams for one person")
            if is_yours
            else "Too many streams are open"
        )
        super().__init__(f"{whose}. Try again later, or poll GET /events meanwhile.")
        self.is_yours = is_yours

    def details(self) -> dict[str, Any]:
        """Return whether only the caller has too many streams, so that other callers still get one."""
        return {"detail": "yours"} if self.is_yours else {}


class OpenStreams:
    """The open streams, and a thread that feeds them while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Weak, so that a stream ends with a response that is discarded unsent.
        self._open: WeakKeyDictionary[Subscription, object] = WeakKeyDictionary()
        self._thread: threading.Thread | None = None

    def add(self, subscription: Subscription, limit: int, *, person: object) -> None:
        """Add a stream, which gets events once it is read.

        Raises `TooManyStreams` if `limit` streams are open, or if a tenth of that, but at least one, belong
        to this person (signed in, or owner of the API key).
        """
        with self._lock:
            if len(self._open) >= limit:
                raise TooManyStreams
            if sum(owner == person for owner in self._open.values()) >= max(1, limit // SHARE):
                raise TooManyStreams(is_yours=True)
            self._open[subscription] = person
            self._measure()
        subscription.on_start, subscription.on_close = self._start, self._remove

    def _start(self) -> None:
        """Start the thread when a stream is first read."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads
                self._thread = threading.Thread(target=self._follow, name="streams", daemon=True)
                self._thread.start()

    def _remove(self, subscription: Subscription) -> None:
        with self._lock:
            self._open.pop(subscription, None)
            self._measure()

    def _measure(self) -> None:
        telemetry.level("editor_streams_open", len(self._open))

    def _follow(self) -> None:
        """Take turns until no stream is open."""
        fan_out = FanOut()
        answered = time.monotonic()
        while True:
            with self._lock:
                if not self._open:
                    self._thread = None
                    break
                streams = list(self._open)
            began = time.monotonic()
            is_behind = False
            try:
                try:
                    is_behind = fan_out.turn(streams)
                finally:
                    close_old_connections()
                answered = time.monotonic()
            except (DatabaseSilent, Error) as error:
                if time.monotonic() - answered > LOST_AFTER:
                    logger.warning("streams end, because the database does not answer", exc_info=error)
                    end_all(streams)
            except Exception:
                logger.exception("streams end")
                end_all(streams)
            took = time.monotonic() - began
            time.sleep(PAUSE if is_behind else max(PAUSE, LOOK_EVERY - took))
        connections.close_all()


follower: Final = OpenStreams()
"""The follower of this process."""
