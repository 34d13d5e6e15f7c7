"""Cached reads without a request while nothing has changed, because a follower reads the log for them.

Each client has one follower, which polls once a second or reads a stream. Resources without news are fresh.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Lock
from typing import Any

from editor_client.calls import SEGMENTS, Call, Resource
from editor_client.errors import CursorAhead, CursorExpired, EditorError, Unauthorized, Unreachable
from editor_client.reads.cache import Entry, Key
from editor_client.reads.cached import Policy, Reads, stale
from editor_client.reads.exchange import NEVER, Flow, Follow, NoAnswer, Sleep, WaitFor
from editor_client.reads.feed import LOST, Feed, LogEvent, Outage

MAX_RESOURCES = 10_000
TRUSTED_SECONDS = 600.0
"""The seconds after which an answer is confirmed without events, because a key gets no event about rights
that it has lost. A stream ends after the same time."""


class Freshness:
    """The freshness of answers, from the events so far. Reading takes no lock; changing does."""

    def __init__(self, clock: Callable[[], float], number: Callable[[], int]) -> None:
        """`clock` gives monotonic seconds; the other argument is the source of ticket numbers."""
        self._clock = clock
        self._number = number
        self._until = NEVER
        self._all = number()
        self._of: dict[Resource, int] = {}
        self._lock = Lock()

    def after_fork(self) -> None:
        """Start over in a forked process, which does not listen yet."""
        self._until = NEVER
        self._lock = Lock()

    def until(self, moment: float) -> None:
        """Set the time until which the state is complete without further events."""
        self._until = moment

    def begin(self) -> None:
        """Record that the log is followed from now on: earlier answers may be outdated."""
        with self._lock:
            self._outdate_all()

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Record changes, in one step for all readers."""
        with self._lock:
            changed: dict[Resource, int] = {}
            is_known = True
            for event in events:
                kind = SEGMENTS.get(event.resource.kind) if event.resource else None
                is_known = is_known and kind is not None
                if event.resource is not None and kind is not None:
                    changed[Resource(kind, event.resource.id)] = self._number()
            if not is_known or len(self._of) + len(changed) > MAX_RESOURCES:
                self._outdate_all()
            elif changed:
                # In one step, so that a reader sees all of a release as outdated, or nothing.
                self._of = {**self._of, **changed}

    def covers(self, entry: Entry) -> bool:
        """Return whether an answer is fresh."""
        # Read first: single changes are dropped only after everything has been marked outdated.
        changed = self._of
        now, number = self._clock(), entry.ticket.number
        if now >= self._until or number <= self._all or now - entry.ticket.time >= TRUSTED_SECONDS:
            return False
        return all(changed.get(concern, -1) < number for concern in entry.concerns)

    def _outdate_all(self) -> None:
        self._all = self._number()
        self._of = {}


logger = logging.getLogger("editor_client")

FIRST_WORD_SECONDS = 2.0
"""The seconds that the first read waits until the log is followed; earlier answers are requested again."""
REFUSED_SECONDS = 10.0
"""The pause between attempts with a refused key."""
ATTEMPT_SECONDS = 5.0
"""The pause between reads that try although no answer is expected."""
LOOK_SECONDS = 0.25
"""The seconds between checks, by a read that waits for another, whether the server is unavailable."""
IMPOSSIBLE_SECONDS = 60.0
"""The pause between attempts if the server has no log to follow."""


class Turns:
    """A mutex whose waiters learn the result of its holder, so that all reads need only one connection."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._busy: Future[None] | None = None

    def take(self) -> Future[None] | None:
        """Take the turn and return None, or return a future that completes when the current holder ends."""
        with self._lock:
            if self._busy is not None:
                return self._busy
            self._busy = Future()
            return None

    def end(self) -> None:
        """Release the turn."""
        with self._lock:
            future, self._busy = self._busy, None
        if future is not None:
            future.set_result(None)


class FollowedReads:
    """The reads of one client, and its follower."""

    def __init__(self, reads: Reads, policy: Policy, clock: Callable[[], float]) -> None:
        self._reads = reads
        self._policy = policy
        self._clock = clock
        self._freshness = Freshness(clock, reads.cache.number)
        self._outage = Outage()
        self.after_fork()

    def after_fork(self) -> None:
        """Start over in a forked process, where there is no follower yet."""
        self._freshness.after_fork()
        self._turns = Turns()
        self._lock = Lock()
        self._first_word: Future[None] | None = None
        self._is_away = False
        """Whether the follower got no answer."""
        self._is_refused = False
        """Whether the key is refused, and its cached answers are kept."""
        self._attempt_due = NEVER
        """The time at which a read tries the server anyway, in case only the follower gets no answer."""

    def read(self, call: Call[Any]) -> Flow[Any]:
        """Return the cached answer if it is fresh; it never is if no event reports its changes."""
        key = yield from self._reads.key(call)
        cached = self._reads.cache.get(key)
        if cached is not None and call.events_tell and self._is_fresh(cached):
            return cached.value
        deadline = self._clock() + self._policy.timeout
        cached = yield from self._reads.find_cached(call, key)
        yield from self._ensure_follower()
        if cached is not None and self._is_known_to_be_away():
            # Try occasionally, in case only the follower gets no answer.
            if not self._reads.rests and self._is_attempt_due():
                yield from self._reads.refresh(call, key, cached)
            return stale(cached)
        return (yield from self._ask_in_turn(call, key, cached, deadline))

    def _ask_in_turn(self, call: Call[Any], key: Key, cached: Entry | None, deadline: float) -> Flow[Any]:
        """Send the request after other reads, unless they make it unnecessary."""
        while (other := self._turns.take()) is not None:
            if cached is not None and self._is_of_no_use_to_ask():
                return stale(cached)
            yield WaitFor(other, min(deadline, self._clock() + LOOK_SECONDS))
            if self._clock() >= deadline:
                if cached is not None:
                    return stale(cached)
                raise Unreachable("The server did not answer: it took too long.", code="timeout")
        try:
            # Another thread may have sent a request in the meantime and received the rights.
            previous_key, key = key, (yield from self._reads.key(call))
            cached = self._reads.cache.get(key) or (cached if key == previous_key else None)
            if cached is not None and call.events_tell and self._is_fresh(cached):
                return cached.value
            if cached is not None and self._is_of_no_use_to_ask():
                return stale(cached)
            return (yield from self._reads.revalidate(call, key, cached, deadline))
        finally:
            self._turns.end()

    def _is_fresh(self, cached: Entry) -> bool:
        is_known_to_be = self._freshness.covers(cached) and not self._reads.cache.changed_since(cached)
        return is_known_to_be and not self._reads.is_silent

    def _is_known_to_be_away(self) -> bool:
        """Return whether a read timed out, or follower and reads got no answer."""
        return self._reads.is_silent or (self._is_away and self._reads.is_down)

    def _is_of_no_use_to_ask(self) -> bool:
        """Return whether the server is unavailable or refuses the key; then a read tries only rarely."""
        return self._is_known_to_be_away() or (self._is_refused and not self._is_attempt_due())

    def _is_attempt_due(self) -> bool:
        is_due = self._clock() >= self._attempt_due
        if is_due:
            self._attempt_due = self._clock() + ATTEMPT_SECONDS
        return is_due

    # The follower

    def _ensure_follower(self) -> Flow[None]:
        """Start the follower with the first read, and wait until it listens before any request."""
        with self._lock:
            is_first = self._first_word is None
            first_word = self._first_word = self._first_word or Future()
        if is_first:
            yield Follow(self._follow(first_word))
        if not first_word.done():
            yield WaitFor(first_word, self._clock() + min(self._policy.timeout, FIRST_WORD_SECONDS))

    def _follow(self, first_word: Future[None]) -> Flow[None]:
        """Listen until the client is closed."""
        feed = Feed(
            self._clock,
            after="now",
            filters=(),
            streamed=self._policy.updates == "stream",
            timeout=self._policy.timeout,
        )
        try:
            while True:
                pause = yield from self._listen(feed)
                if not first_word.done():
                    first_word.set_result(None)
                if pause:
                    # Events missed in the meantime do not matter: every cached answer will be requested
                    # again.
                    self._freshness.until(NEVER)
                    feed.start_at("now")
                    yield Sleep(pause)
        finally:
            # Without a follower every read sends a request.
            self._freshness.until(NEVER)
            self._is_away = self._is_refused = False
            if not first_word.done():
                first_word.set_result(None)

    def _listen(self, feed: Feed) -> Flow[float]:
        """Wait for the next events; return the seconds to wait if there was no answer."""
        number, feed.rights = self._reads.cache.number(), ""
        try:
            batch = yield from feed.next()
            yield from self._reads.note_rights(feed.rights, number)
        except LOST as error:
            if isinstance(error, NoAnswer) and not self._is_away:
                self._reads.lose(silent=not error.in_time)
            self._is_away, self._is_refused = True, False
            return self._outage.record_failure(
                error, "The client serves stale answers until a server answers."
            )
        except Unauthorized as error:
            self._is_away, self._is_refused = False, self._policy.keeps_unauthorized
            yield from self._reads.note_refusal(error)
            return REFUSED_SECONDS
        except (CursorAhead, CursorExpired) as error:
            return self._outage.record_failure(error, "The client reads its cached answers again.")
        except EditorError as error:
            self._is_away = self._is_refused = False
            self._outage.record_failure(error, "Every read sends a request.")
            return IMPOSSIBLE_SECONDS
        if batch.begins:
            self._freshness.begin()
        self._freshness.hear(batch.events)
        if batch.until is not None:
            self._freshness.until(batch.until)
            if batch.until != NEVER:
                self._reads.hear()
        self._is_away = self._is_refused = False
        self._outage.over()
        return 0
