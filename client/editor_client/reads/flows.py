"""All decisions of the clients, without I/O.

A flow is a generator: it yields an effect and receives the result. The two drivers, `editor_client.sync` and
`editor_client.asynchronous`, perform the effects and make no decisions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar, Unpack, cast

from editor_client.calls import Answer, Call, Request, reading
from editor_client.errors import EditorError, NotFound
from editor_client.methods import Driver, iterator, method
from editor_client.reads.cache import DiskCache, Rights
from editor_client.reads.cached import NO_ANSWER, AgentReads, Policy, Reads
from editor_client.reads.exchange import Exchange, Flow
from editor_client.reads.feed import After, EventFilters, EventList, EventPage, Listener, event_query
from editor_client.reads.following import FollowedReads
from editor_client.reads.reporting import UsageReports

logger = logging.getLogger("editor_client")
T = TypeVar("T")


class Flows:
    """The flows of one client and their shared state: the cache, and whether the server is down."""

    def __init__(
        self,
        rights: Rights,
        policy: Policy,
        disk: DiskCache | None,
        clock: Callable[[], float],
        hint: str = "",
    ) -> None:
        """`hint` is the text for `NotFound` errors."""
        self._server = rights.server
        self._hint = hint
        self._policy = policy
        self._clock = clock
        self._exchange = Exchange(policy.retries, clock, idempotent=policy.idempotent)
        self._reads = Reads(rights, policy, disk, self._exchange, clock)
        self._followed = None if policy.updates == "ask" else FollowedReads(self._reads, policy, clock)
        self._read_call = self._reads.read if self._followed is None else self._followed.read
        self._agents = AgentReads(
            self._reads, self._read_call, clock, parts_cost_nothing=self._followed is not None
        )
        self.reports = UsageReports(policy.timeout, clock) if policy.reports_usage else None
        """The unreported usage; None for a client that does not report."""

    def perform(self, call: Call[T]) -> Flow[T]:
        """Make a call and return its result; raises the errors of `editor_client.errors`."""
        flow = self._naming(call.request, self._perform(call))
        if self.reports is None or call.local is None:
            return flow
        # A read agent is about to be used; a prefetched one is not.
        return cast("Flow[T]", self.reports.count_run(cast("Flow[Any]", flow)))

    def report_usage(self) -> Flow[None]:
        """Report the pending usage immediately."""
        if self.reports is not None:
            yield from self.reports.send()

    def _perform(self, call: Call[T]) -> Flow[T]:
        if not call.cached:
            return (yield from self._ask(call))
        try:
            reading = self._read_call(call) if call.local is None else self._agents.read(call, call.local)
            return cast("T", (yield from reading))
        except NO_ANSWER as error:
            if call.fallback is None:
                raise
            logger.warning("%s: %s Nothing is cached, so the fallback is used.", call.request.path, error)
            return call.fallback

    def prefetch(self, calls: Iterable[Call[Any]]) -> Flow[list[Any]]:
        """Make all calls; the first error is raised after all have been made."""
        results = []
        problems = []
        for call in calls:
            try:
                results.append((yield from self._naming(call.request, self._perform(call))))
            except EditorError as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return results

    def listener(self, after: After, filters: EventFilters) -> Listener:
        """Return the listener to the events of the log after a position."""
        return Listener(self._clock, self._policy.timeout, self._policy.retries, after, filters)

    def fail(self, request: Request, answer: Answer) -> Flow[NoReturn]:
        """Raise the error for an answer."""
        return self._naming(request, self._reads.fail(answer))

    def _naming(self, request: Request, flow: Flow[T]) -> Flow[T]:
        """Run a flow to its end, adding the request to its errors."""
        try:
            return (yield from flow)
        except EditorError as error:
            error.asked = f"{request.method} {self._server}{request.path}"
            error.hint = self._hint if isinstance(error, NotFound) else ""
            raise

    def after_fork(self) -> None:
        """Continue in a forked process: the cache stays, other threads are gone."""
        self._reads.after_fork()
        self._exchange.after_fork()
        self._agents.after_fork()
        if self._followed is not None:
            self._followed.after_fork()
        if self.reports is not None:
            self.reports.after_fork()

    def _ask(self, call: Call[T]) -> Flow[T]:
        timeout = self._policy.run_timeout if call.runs else self._policy.timeout
        number = self._reads.cache.number()
        try:
            answer = yield from self._exchange.ask(call.request, timeout)
            yield from self._reads.note_rights(answer.rights, number)
            result = yield from self._reads.result(call, answer)
        finally:
            # Even if it is unknown whether it was done.
            if call.changes:
                self._reads.cache.mark_changed()
        if call.removes and call.about is not None:
            yield from self._reads.forget(call.about)
        return result


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
