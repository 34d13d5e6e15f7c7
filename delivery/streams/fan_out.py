"""From the log to the open streams: each gets what it wants and who listens may see.

What is new is read once, whoever listens, and who may see it is asked once for all who have the same
rights. A stream that is behind, because it was resumed or its client is slow, is given pages of the log
like those of `GET /events` until it has caught up.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from delivery.streams.frames import Frames, last_words
from delivery.streams.rights import KnownRights, Listening
from delivery.streams.subscription import Subscription
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.errors import CursorAhead, CursorExpired
from versioning.editor.event_log import EventFilter
from versioning.models import Event, events, log_position
from versioning.serving.event_visibility import visible_to
from versioning.serving.followed_log import log

MAX_ENTRIES: Final = 1000
"""Entries that are read at once."""

PAGE: Final = 200
"""Events that a stream is given at once while it is behind."""

CATCHING_UP: Final = 0.05
"""Seconds of a turn for the streams that are behind; whom that leaves out is served by a later one."""

Alike = tuple[Caller, EventFilter, int, list[Subscription]]
"""Streams whose listeners may see the same, that want the same, and have got equally far."""


class DatabaseSilent(Exception):
    """The database does not say where the log is."""


class FanOut:
    """How far the log has been handed over to streams that are not behind."""

    def __init__(self) -> None:
        self._rights = KnownRights()
        self._position: int | None = None

    def turn(self, streams: Sequence[Subscription]) -> bool:
        """Hand over what is new; return whether there is more that can be handed over now.

        Raises `DatabaseSilent`, or an error of the database; then the next turn begins where this one did.
        """
        position = log_position.position()
        # In this order: whoever is given an entry has the rights of that moment, or of a later one.
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

    An earlier state of the database was restored: what these have been told of has not happened.
    """
    for stream, _ in listening:
        if stream.position > newest:
            stream.end(last_words(CursorAhead(newest)))
    return [one for one in listening if one[0].position <= newest]


def _hand_over(listening: Listening, after: int, until: int) -> int:
    """Hand over what was written between two positions; return how far that was possible at once."""
    found = events.entries(after, MAX_ENTRIES)
    if len(found) >= MAX_ENTRIES:
        until = min(until, found[-1].position)
    if events.extent().oldest > after:  # pruned in this moment, so that some may be missing
        _end(stream for stream, _ in listening)
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
    """Give the streams that are behind a page each; return whether any is left that can take another."""
    groups = list(_alike([one for one in listening if one[0].position < until]))
    random.shuffle(groups)  # no fixed order, in which the last ones might never have their turn
    deadline = time.monotonic() + CATCHING_UP
    is_behind = False
    for caller, only, position, streams in groups:
        if time.monotonic() > deadline:
            return True
        try:
            page = get_editor().event.page(after=position, limit=PAGE, by=caller, **only._asdict())
        except CursorExpired:  # the client is told when it comes back
            _end(streams)
            continue
        except CursorAhead:  # restored in this moment: the next turn says so
            continue
        reached = min(page.next, until)
        _push(streams, Frames().of([one for one in page.events if one.position <= reached]))
        for stream in streams:
            stream.position = reached
        is_behind = is_behind or reached < until
    return is_behind


def _alike(listening: Listening) -> Iterator[Alike]:
    """Yield groups of streams that get the same, without those whose clients have to read first."""
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


def _end(streams: Iterable[Subscription]) -> None:
    for stream in streams:
        stream.end()
