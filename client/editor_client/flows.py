"""All decisions of the clients, without input and output.

A flow is a generator: it yields an effect and receives the result. The two drivers, `editor_client.sync`
and `editor_client.asynchronous`, perform the effects and decide nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

from editor_client.cache import OLDEST, Cache, Entry, Key, Scope, Ticket
from editor_client.calls import Answer, Call, Resource
from editor_client.disk import DiskCache
from editor_client.effects import DiskWork, Flow, InBackground
from editor_client.errors import (
    EditorError,
    Forbidden,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
)
from editor_client.exchange import Exchange, failure

logger = logging.getLogger("editor_client")
T = TypeVar("T")

OK, CREATED, NOT_MODIFIED = 200, 201, 304

REWRITE_SECONDS = 3600.0
"""After which an answer that still holds is written to the disk again, so that it counts as used."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The settings that a caller chooses."""

    timeout: float
    run_timeout: float
    retries: int
    max_age: float
    stale_while_revalidate: float


class Flows:
    """The flows of one client and their shared state: the cache, and whether the server is down."""

    def __init__(
        self, scope: Scope, policy: Policy, disk: DiskCache | None, clock: Callable[[], float]
    ) -> None:
        self._scope = scope
        self._policy = policy
        self._disk = disk
        self._clock = clock
        self._cache = Cache(clock)
        self._exchange = Exchange(policy.retries, clock)

    def perform(self, call: Call[T]) -> Flow[T]:
        """Make a call and return its result; raises the errors of `editor_client.errors`."""
        return cast("Flow[T]", self._read(call)) if call.cached else self._ask(call)

    def prefetch(self, calls: Iterable[Call[Any]]) -> Flow[list[Any]]:
        """Make all calls; the first error is raised after all have been made."""
        results = []
        problems = []
        for call in calls:
            try:
                results.append((yield from self.perform(call)))
            except EditorError as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return results

    def fail(self, answer: Answer) -> Flow[NoReturn]:
        """Raise the error for an answer."""
        error = failure(answer)
        if isinstance(error, Unauthorized):
            yield from self._forget()
        raise error

    def after_fork(self) -> None:
        """Continue in a forked process: the cache stays, other threads are gone."""
        self._cache.after_fork()
        self._exchange.after_fork()
        if self._disk is not None:
            self._disk.after_fork()

    # Calls whose answers are not cached

    def _ask(self, call: Call[T]) -> Flow[T]:
        timeout = self._policy.run_timeout if call.runs else self._policy.timeout
        try:
            answer = yield from self._exchange.ask(call.request, timeout)
            result = yield from self._result(call, answer)
        finally:
            # Also when nobody knows whether it was done.
            if call.changes:
                self._cache.changed()
        if call.removes and call.about is not None:
            yield from self._forget(call.about)
        return result

    # Reads whose answers are cached

    def _read(self, call: Call[Any]) -> Flow[Any]:
        key = self._key(call)
        cached = self._cache.get(key)
        if cached is None:
            cached = yield from self._load_from_disk(call, key)
        if cached is not None:
            age = self._cache.age(cached)
            if age < self._policy.max_age:
                return cached.value
            if age < self._policy.max_age + self._policy.stale_while_revalidate:
                if self._cache.begin_refresh(key):
                    yield InBackground(self._refresh(call, key, cached))
                return cached.value
        return (yield from self._revalidate(call, key, cached))

    def _load_from_disk(self, call: Call[Any], key: Key) -> Flow[Entry | None]:
        """Return what an earlier process has stored in the folder; it counts as old."""
        if self._disk is None or self._cache.knows(key):
            return None
        answer = yield DiskWork(partial(self._disk.load, key))
        if answer is None:
            return None
        try:
            entry = Entry(ticket=OLDEST, answer=answer, value=call.read(answer))
        except ServerError:
            return None
        self._cache.put(key, entry)
        return entry

    def _refresh(self, call: Call[Any], key: Key, cached: Entry) -> Flow[None]:
        """Ask again in the background; errors are logged, since nobody waits for the result."""
        try:
            yield from self._revalidate(call, key, cached)
        except EditorError as error:
            logger.warning("%s could not be refreshed: %s", call.request.path, error)
        finally:
            self._cache.end_refresh(key)

    def _revalidate(self, call: Call[T], key: Key, cached: Entry | None) -> Flow[Any]:
        if cached is None or not self._exchange.down:
            return (yield from self._ask_again(call, key, cached))
        with self._exchange.probe() as mine:
            return (yield from self._ask_again(call, key, cached)) if mine else _stale(cached)

    def _ask_again(self, call: Call[Any], key: Key, cached: Entry | None) -> Flow[Any]:
        ticket = self._cache.ticket()
        try:
            answer = yield from self._exchange.ask(
                call.request,
                self._policy.timeout,
                etag=cached.answer.etag if cached else None,
                wait=cached is None,
            )
            if cached is not None and answer.status == NOT_MODIFIED:
                entry = Entry(ticket, cached.answer, cached.value, cached.stored)
            else:
                entry = Entry(ticket, answer, (yield from self._result(call, answer)))
            return (yield from self._store(key, entry))
        except (Forbidden, NotFound):
            yield from self._refuse(key, ticket)
            raise
        except (Unreachable, ServerError, RateLimited) as error:
            if cached is None:
                raise
            logger.warning("%s: %s The last good answer is used.", call.request.path, error)
            return _stale(cached)

    def _result(self, call: Call[T], answer: Answer) -> Flow[T]:
        if answer.status in {OK, CREATED}:
            return call.read(answer)
        return (yield from self.fail(answer))

    # The cache

    def _key(self, call: Call[Any]) -> Key:
        assert call.about is not None  # noqa: S101
        return Key(self._scope, call.about, call.request.path, call.request.query)

    def _store(self, key: Key, entry: Entry) -> Flow[Any]:
        is_due = self._clock() - entry.stored > REWRITE_SECONDS
        if is_due:
            entry = replace(entry, stored=self._clock())
        if self._cache.put(key, entry) and is_due and self._disk is not None:
            yield DiskWork(
                partial(self._disk.store, key, entry.answer, partial(self._is_current, key, entry))
            )
        return entry.value

    def _is_current(self, key: Key, entry: Entry) -> bool:
        """Say whether this is still the answer to give; a refusal may have arrived since."""
        cached = self._cache.get(key)
        return cached is not None and cached.answer is entry.answer

    def _refuse(self, key: Key, ticket: Ticket) -> Flow[None]:
        self._cache.refuse(key, ticket)
        if self._disk is not None:
            yield DiskWork(partial(self._disk.drop, key))

    def _forget(self, *about: Resource) -> Flow[None]:
        """Remove one resource from the cache, or everything if the key is no longer valid."""
        self._cache.forget(*about)
        if self._disk is not None:
            yield DiskWork(partial(self._disk.forget, *about))


def _stale(cached: Entry) -> Any:
    return replace(cached.value, stale=True)
