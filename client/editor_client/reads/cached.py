"""Cached reads: when requests are sent, how answers change the cache, and agents in a context."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar

from editor_client.calls import Answer, Call, Local, Query, Resource
from editor_client.errors import (
    CannotEvaluate,
    Conflict,
    EditorError,
    Forbidden,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)
from editor_client.reads.cache import MAX_ENTRIES, OLDEST, Cache, DiskCache, Entry, Key, Rights, Ticket
from editor_client.reads.exchange import DiskWork, Exchange, Flow, InBackground, failure

logger = logging.getLogger("editor_client")
T = TypeVar("T")

OK, CREATED, ACCEPTED, NOT_MODIFIED, UNAUTHORIZED = 200, 201, 202, 304, 401
NO_ANSWER = (Unreachable, ServerError, RateLimited)
"""The server has not answered the request."""

Updates = Literal["ask", "poll", "stream"]

REWRITE_SECONDS = 3600.0
"""After this time, a confirmed answer is written to the disk again, so that it counts as used."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The caller's settings."""

    timeout: float
    run_timeout: float
    retries: int
    max_age: float
    stale_while_revalidate: float
    updates: Updates = "ask"
    keeps_unauthorized: bool = False
    reports_usage: bool = False
    idempotent: bool = False


class Reads:
    """The cached answers of one client, in memory and on the disk."""

    def __init__(
        self,
        rights: Rights,
        policy: Policy,
        disk: DiskCache | None,
        exchange: Exchange,
        clock: Callable[[], float],
    ) -> None:
        self.cache = Cache(clock)
        self._rights = rights
        self._policy = policy
        self._disk = disk
        self._exchange = exchange
        self._clock = clock
        self._refused_at: int | None = None
        """The ticket of the cache when the key was refused; None while it is accepted."""
        self._refusals = Lock()

    def read(self, call: Call[Any]) -> Flow[Any]:
        """Return the cached answer while it is fresh, otherwise request it."""
        key = yield from self.key(call)
        cached = yield from self.find_cached(call, key)
        if cached is not None:
            age = self.cache.age(cached)
            if age < self._policy.max_age:
                return cached.value
            if age < self._policy.max_age + self._policy.stale_while_revalidate:
                yield from self.refresh(call, key, cached)
                return stale(cached) if cached.unconfirmed or self.is_down else cached.value
        return (yield from self.revalidate(call, key, cached))

    @property
    def is_down(self) -> bool:
        """Whether the latest read got no answer."""
        return self._exchange.down

    @property
    def is_silent(self) -> bool:
        """Whether the latest read waited for an answer in vain."""
        return self._exchange.silent

    @property
    def rests(self) -> bool:
        """Whether a read that can do without an answer should not wait for one."""
        return self._exchange.rests

    def lose(self, *, silent: bool) -> None:
        """Record that another connection gets no answer; `silent` if the failure was slow."""
        self._exchange.lose(silent=silent)

    def hear(self) -> None:
        """Record that another connection gets answers."""
        self._exchange.hear()

    def key(self, call: Call[Any]) -> Flow[Key]:
        """Return the key of a call in the cache, by the rights that the server has sent."""
        if not self._rights.is_recalled and self._disk is not None:
            self._rights.recall((yield DiskWork(self._disk.rights)))
        return self._key(call)

    def _key(self, call: Call[Any]) -> Key:
        assert call.about is not None  # noqa: S101
        return Key(self._rights.scope(call), call.about, call.request.path, call.request.query)

    def note_rights(self, name: str, number: int) -> Flow[None]:
        """Record the rights in the answer to a request with this number, if any."""
        if name and self._rights.note(name, number) and self._disk is not None:
            yield DiskWork(partial(self._disk.store_rights, name, lambda: self._rights.name == name))

    def find_cached(self, call: Call[Any], key: Key) -> Flow[Entry | None]:
        """Return the last good answer; one from the disk, stored by an earlier process, counts as old."""
        cached = self.cache.get(key)
        if cached is not None or self._disk is None or self.cache.knows(key):
            return cached
        answer = yield DiskWork(partial(self._disk.load, key))
        if answer is None:
            return None
        try:
            entry = _entry(call, answer, OLDEST)
        except ServerError:
            return None
        self.cache.put(key, entry)
        return entry

    def revalidate(
        self, call: Call[Any], key: Key, cached: Entry | None, deadline: float | None = None
    ) -> Flow[Any]:
        """Send the request; without an answer return the cached one as stale, or raise if there is none.

        The deadline is a time of the clock; `timeout` seconds from now if there is none.
        """
        seconds = self._policy.timeout if deadline is None else max(0.0, deadline - self._clock())
        if cached is None or not self._exchange.down:
            return (yield from self._ask(call, key, cached, seconds))
        if self._exchange.rests:
            return stale(cached)
        with self._exchange.probe() as mine:
            return (yield from self._ask(call, key, cached, seconds)) if mine else stale(cached)

    def result(self, call: Call[T], answer: Answer) -> Flow[T]:
        """Return the result in an answer; raises its error."""
        if answer.status in {OK, CREATED, ACCEPTED}:
            return call.read(answer)
        return (yield from self.fail(answer))

    def fail(self, answer: Answer) -> Flow[NoReturn]:
        """Raise the error for an answer; an invalid key removes its cached answers."""
        error = failure(answer)
        if isinstance(error, Unauthorized):
            yield from self.note_refusal(error)
        raise error

    def note_refusal(self, error: Unauthorized) -> Flow[None]:
        """Remove all answers because the key is refused, or log once that they are still served."""
        with self._refusals:  # several threads notice it at the same moment
            is_news, self._refused_at = self._refused_at is None, self.cache.number()
        if not self._policy.keeps_unauthorized:
            yield from self.forget()
        elif is_news:
            logger.warning("%s Earlier answers to this key are served as stale.", error)

    def forget(self, *about: Resource) -> Flow[None]:
        """Remove the cached answers about one resource, or all of this key."""
        self.cache.forget(*about)
        if not about:
            self._rights.note("", self.cache.number())
        if self._disk is None:
            return
        if not about:
            yield DiskWork(self._disk.forget)
        for pair in about:
            yield DiskWork(partial(self._disk.forget_resource, pair, self._rights.name))

    def after_fork(self) -> None:
        """Continue in a forked process: the cache stays, other threads are gone."""
        self._refusals = Lock()
        self._rights.after_fork()
        self.cache.after_fork()
        if self._disk is not None:
            self._disk.after_fork()

    def refresh(self, call: Call[Any], key: Key, cached: Entry) -> Flow[None]:
        """Refresh in the background, unless that is already happening or the server is known to be down."""
        if not self._exchange.rests and self.cache.begin_refresh(key):
            yield InBackground(self._refresh(call, key, cached))

    def _refresh(self, call: Call[Any], key: Key, cached: Entry) -> Flow[None]:
        """Refresh; errors are logged, because no caller waits for the result."""
        try:
            yield from self.revalidate(call, key, cached)
        except EditorError as error:
            logger.warning("%s could not be refreshed: %s", call.request.path, error)
        finally:
            self.cache.end_refresh(key)

    def _ask(self, call: Call[Any], key: Key, cached: Entry | None, seconds: float) -> Flow[Any]:
        ticket = self.cache.ticket()
        try:
            answer = yield from self._exchange.ask(
                call.request,
                seconds,
                etag=cached.answer.etag if cached else None,
                wait=cached is None,
            )
            if answer.status != UNAUTHORIZED:
                with self._refusals:
                    if self._refused_at is not None and ticket.number > self._refused_at:
                        self._refused_at = None
            yield from self.note_rights(answer.rights, ticket.number)
            requested_key = key
            if answer.rights not in {"", key.scope.rights}:
                # The current rights may differ: a late answer does not change them.
                key = key._replace(scope=self._rights.scope(call, answer.rights))
            # Answers read with other rights are not returned, even if this answer is an error.
            cached = cached if key == requested_key else None
            if key != requested_key and answer.status == NOT_MODIFIED:
                return (yield from self._ask(call, key, None, seconds))
            if cached is not None and answer.status == NOT_MODIFIED:
                entry = replace(cached, ticket=ticket, unconfirmed=False)
            else:
                if answer.status not in {OK, CREATED}:
                    yield from self.fail(answer)
                entry = _entry(call, answer, ticket)
            return (yield from self._store(key, entry))
        except (Forbidden, NotFound):
            yield from self._refuse(key, ticket)
            if call.local is not None:
                yield from self._refuse(self._key(call.local.parts)._replace(scope=key.scope), ticket)
            raise
        except Unauthorized:
            if cached is None or not self._policy.keeps_unauthorized:
                raise
            return stale(cached)
        except NO_ANSWER as error:
            if cached is None:
                raise
            self.cache.put(key, replace(cached, unconfirmed=True))
            if self._exchange.is_news() if self._exchange.down else not cached.unconfirmed:
                logger.warning("%s: %s The last good answer is used.", call.request.path, error)
            return stale(cached)

    # The cache

    def _store(self, key: Key, entry: Entry) -> Flow[Any]:
        is_due = self._clock() - entry.stored > REWRITE_SECONDS
        if is_due:
            entry = replace(entry, stored=self._clock())
        if self.cache.put(key, entry) and is_due and self._disk is not None:
            yield DiskWork(
                partial(self._disk.store, key, entry.answer, partial(self._is_current, key, entry))
            )
        return entry.value

    def _is_current(self, key: Key, entry: Entry) -> bool:
        """Return whether this is still the answer to return; a refusal may have arrived since."""
        cached = self.cache.get(key)
        return cached is not None and cached.answer is entry.answer

    def _refuse(self, key: Key, ticket: Ticket) -> Flow[None]:
        self.cache.refuse(key, ticket)
        if self._disk is not None:
            yield DiskWork(partial(self._disk.drop, key))


def _entry(call: Call[Any], answer: Answer, ticket: Ticket) -> Entry:
    """Return the cache entry for a good answer; raises `ServerError` if it is invalid."""
    value = call.read(answer)
    assert call.about is not None  # noqa: S101
    blocks = (Resource("prompt-blocks", block_id) for block_id in value.shown_block_ids)
    return Entry(ticket, answer, value, concerns=(call.about, *blocks))


def stale(cached: Entry) -> Any:
    """Return a cached answer that the server has not confirmed."""
    return replace(cached.value, stale=True)


SERVER_SECONDS = 60.0
"""The seconds for which the server evaluates an agent that the client could not."""

_ANY = ""
"""Stands for the paths of all agents."""


class _ByTheServer(NamedTuple):
    """A record that the server evaluates an agent, or all agents."""

    until: float
    events_tell: bool
    """Whether the log reports changes: not if the server chooses versions in its own way."""


_NOT: _ByTheServer = _ByTheServer(float("-inf"), events_tell=True)


class AgentReads:
    """The reads of agents of one client; `read_call` performs cacheable reads."""

    def __init__(
        self,
        reads: Reads,
        read_call: Callable[[Call[Any]], Flow[Any]],
        clock: Callable[[], float],
        *,
        parts_cost_nothing: bool,
    ) -> None:
        """`parts_cost_nothing` means that cached parts are read without a request."""
        self._reads = reads
        self._read_call = read_call
        self._clock = clock
        self._parts_cost_nothing = parts_cost_nothing
        self._results: OrderedDict[tuple[str, Query], tuple[Any, Any]] = OrderedDict()
        """Evaluated agents by request, with the parts they were made from."""
        self._by_the_server: dict[str, _ByTheServer] = {}
        """By the path of an agent, or for all."""
        self.after_fork()

    def after_fork(self) -> None:
        """Continue in a forked process, where other threads are gone."""
        self._lock = Lock()

    def read(self, call: Call[Any], local: Local[Any]) -> Flow[Any]:
        """Return an agent in a context, evaluated here if possible."""
        for name in (_ANY, call.request.path) if self._by_the_server else ():
            decision = self._by_the_server.get(name, _NOT)
            if self._clock() < decision.until:
                return (yield from self._let_server_evaluate(call, local, events_tell=decision.events_tell))
        try:
            parts = yield from self._read_call(local.parts)
        except (ValidationFailed, Conflict) as error:
            # The server is too old for parts, or chooses the agent's versions in its own way.
            has_no_parts = error.code == "parts_unavailable" or any(
                issue.field == "form" for issue in error.issues
            )
            if not has_no_parts:
                raise
            is_too_old = isinstance(error, ValidationFailed)
            self._leave_to_the_server(_ANY if is_too_old else call.request.path, events_tell=is_too_old)
            return (yield from self._let_server_evaluate(call, local, events_tell=is_too_old))
        try:
            return self._evaluate(call, local, parts)
        except CannotEvaluate:
            if not self._parts_cost_nothing:
                self._leave_to_the_server(call.request.path, events_tell=True)
            return (yield from self._let_server_evaluate(call, local, events_tell=True))

    def _leave_to_the_server(self, name: str, *, events_tell: bool) -> None:
        self._by_the_server[name] = _ByTheServer(self._clock() + SERVER_SECONDS, events_tell)

    def _let_server_evaluate(self, call: Call[Any], local: Local[Any], *, events_tell: bool) -> Flow[Any]:
        """Let the server evaluate an agent; without an answer, evaluate the cached parts if possible."""
        if self._reads.rests:
            key = yield from self._reads.key(call)
            offline = yield from self._offline(local)
            if offline is not None and (yield from self._reads.find_cached(call, key)) is None:
                return offline
        try:
            return (yield from self._read_call(call if events_tell else replace(call, events_tell=False)))
        except NO_ANSWER:
            offline = yield from self._offline(local)
            if offline is None:
                raise
            return offline

    def _offline(self, local: Local[Any]) -> Flow[Any]:
        """Return the agent evaluated from cached parts as far as possible, as stale; None if impossible."""
        key = yield from self._reads.key(local.parts)
        entry = yield from self._reads.find_cached(local.parts, key)
        if entry is None:
            return None
        try:
            return replace(local.evaluate_offline(entry.value), stale=True)
        except CannotEvaluate:
            return None

    def _evaluate(self, call: Call[Any], local: Local[Any], parts: Any) -> Any:
        """Evaluate an agent in a context, once as long as its parts stay the same."""
        result_key = (call.request.path, call.request.query)
        cached = self._results.get(result_key)
        if cached is None or cached[0] is not parts.raw:
            cached = (parts.raw, local.evaluate(parts))
            with self._lock:
                self._results[result_key] = cached
                while len(self._results) > MAX_ENTRIES:
                    self._results.popitem(last=False)
        return replace(cached[1], stale=True) if parts.stale else cached[1]
