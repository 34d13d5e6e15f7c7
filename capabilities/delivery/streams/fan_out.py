"""From the log to the open streams: each gets the events that match its filter and that its listener may see.

New entries are read once for all streams, and their visibility is queried once for all listeners with the
same rights. A stream that is behind, because it was resumed or its client is slow, gets pages of the log like
those of `GET /events` until it has caught up.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from django.utils import timezone

from capabilities.delivery.streams.listeners import Listener, Rights
from capabilities.delivery.streams.subscription import Frames, Subscription, last_words
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.errors import CursorAhead, CursorExpired
from versioning.editor.event_log import EventFilter
from versioning.models import Event, events, log_position
from versioning.models.events import Extent
from versioning.serving.event_visibility import visible_to
from versioning.serving.followed_log import RIGHTS, Moment, log

Listening = list[tuple[Subscription, Caller]]
"""Open streams, each with the current rights of its listener."""


class KnownRights:
    """The rights of all listeners, read again whenever they may have changed."""

    def __init__(self) -> None:
        self._known: dict[Listener, tuple[Rights | None, Moment]] = {}

    def of(self, streams: Sequence[Subscription], now: Moment) -> Listening:
        """Return the streams that may continue; end those whose listener no longer has access.

        A listener that loses its last role has no access. One that never had a role, and gets only public
        events, may continue.
        """
        listeners = {stream.listener for stream in streams}
        self._known = {listener: self._current(listener, now) for listener in listeners}
        listening = []
        for stream in streams:
            rights = self._known[stream.listener][0]
            has_role = rights is not None and rights.caller.has_role
            if rights is None or (stream.has_role and not has_role):
                stream.end()
            else:
                stream.has_role = has_role
                listening.append((stream, rights.caller))
        return listening

    def _current(self, listener: Listener, now: Moment) -> tuple[Rights | None, Moment]:
        known = self._known.get(listener)
        if known is not None and log.is_right(known[1], (RIGHTS,), now) and _lasts(known[0]):
            return known
        return listener.rights(), now


def _lasts(rights: Rights | None) -> bool:
    return rights is not None and (rights.expire_at is None or rights.expire_at > timezone.now())


MAX_ENTRIES: Final = 1000
"""Entries that are read at once."""

PAGE: Final = 200
"""The events that a stream gets at once while it is behind."""

CATCHING_UP: Final = 0.05
"""The seconds of a turn for the streams that are behind; the others are served by a later turn."""

Alike = tuple[Caller, EventFilter, int, list[Subscription]]
"""Streams at the same position, with the same filter, whose listeners have the same rights."""


class DatabaseSilent(Exception):
    """The database does not return the position of the log."""


class FanOut:
    """Distributes the log to streams, and knows the position of those that are up to date."""

    def __init__(self) -> None:
        self._rights = KnownRights()
        self._position: int | None = None

    def turn(self, streams: Sequence[Subscription]) -> bool:
        """Distribute new entries; return whether there are more that can be distributed now.

        Raises `DatabaseSilent`, or an error of the database; then the next turn begins where this one did.
        """
        position = log_position.position()
        # In this order, so that an entry is checked against rights that are at least as recent.
        now = log.follow()
        if position is None or now is None:
            raise DatabaseSilent
        listening = _none_ahead(self._rights.of(streams, now), position)
        if self._position is None or position < self._position:
            self._position = position
        elif position > self._position:
            self._position = _hand_over(listening, self._position, position)
        return _catch_up(listening, self._position) or self._position < position


def _none_ahead(listening: Listening, newest: int) -> Listening:
    """End the streams that are beyond the end of the log, and return the others.

    They have sent events that did not happen, because an earlier state of the database was restored.
    """
    for stream, _ in listening:
        if stream.position > newest:
            stream.end(last_words(CursorAhead(newest, events.extent().epoch)))
    return [one for one in listening if one[0].position <= newest]


def _of_epoch(listening: Listening, extent: Extent) -> Listening:
    """End the streams that began in another epoch of the log, and return the others."""
    for stream, _ in listening:
        if stream.epoch != extent.epoch:
            stream.end(last_words(CursorAhead(extent.newest, extent.epoch)))
    return [one for one in listening if one[0].epoch == extent.epoch]


def _hand_over(listening: Listening, after: int, until: int) -> int:
    """Distribute the entries between two positions; return the position that was reached."""
    found = events.entries(after, MAX_ENTRIES)
    if len(found) >= MAX_ENTRIES:
        until = min(until, found[-1].position)
    extent = events.extent()
    listening = _of_epoch(listening, extent)
    if extent.oldest > after:  # pruned at this moment, so some may be missing
        end_all(stream for stream, _ in listening)
        return until
    entries = [entry for entry in found if entry.position <= until]
    by_rights: dict[object, list[Alike]] = defaultdict(list)
    up_to_date = [one for one in listening if one[0].position >= after]
    for alike in _alike(up_to_date):
        by_rights[alike[0].rights].append(alike)
    frames = Frames()
    for group in by_rights.values():
        seen: set[int] | None = None
        for caller, only, position, streams in group:
            wanted = [one for one in entries if one.position > position and only.admits(one)]
            if wanted and only.may_match(caller):
                seen = _seen_by(caller, after, until) if seen is None else seen
                _push(streams, frames.of([one for one in wanted if one.pk in seen]))
            for stream in streams:
                stream.position = max(position, until)
    return until


def _seen_by(caller: Caller, after: int, until: int) -> set[int]:
    """Return the primary keys of the entries between two positions that the caller may see."""
    rows = Event.objects.filter(position__gt=after, position__lte=until)
    return set(visible_to(caller, get_editor().code, rows).order_by().values_list("pk", flat=True))


def _catch_up(listening: Listening, until: int) -> bool:
    """Give each stream that is behind a page; return whether any of them can take another."""
    groups = list(_alike([one for one in listening if one[0].position < until]))
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


def _alike(listening: Listening) -> Iterator[Alike]:
    """Yield groups of streams that get the same events, without those whose clients must read first."""
    groups: dict[tuple[object, EventFilter, int], Alike] = {}
    for stream, caller in listening:
        if not stream.is_full:
            key = (caller.rights, stream.only, stream.position)
            groups.setdefault(key, (caller, stream.only, stream.position, []))[-1].append(stream)
    yield from groups.values()


def _push(streams: Iterable[Subscription], content: bytes) -> None:
    if content:
        for stream in streams:
            stream.push(content)


def end_all(streams: Iterable[Subscription]) -> None:
    """End streams; their clients reconnect."""
    for stream in streams:
        stream.end()
