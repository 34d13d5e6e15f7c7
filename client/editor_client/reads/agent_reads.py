"""Reads of agents: what is held are their parts, from which an agent is evaluated in any context.

So one copy of an agent serves all contexts, and those that were never asked about while no server answers.
Some agents only the server can evaluate: those whose versions it chooses in its own way, and those whose
schema the client cannot check.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

from editor_client.calls import Call, Local, Query
from editor_client.errors import CannotEvaluate, Conflict, ValidationFailed
from editor_client.reads.cache import MAX_ENTRIES
from editor_client.reads.cached import NO_ANSWER, Reads
from editor_client.reads.effects import Flow

SERVER_SECONDS = 60.0
"""How long the server evaluates an agent after it was found that only the server can."""

_ANY = ""
"""Stands for the paths of all agents."""


class _ByTheServer(NamedTuple):
    """That the server evaluates an agent, or all."""

    until: float
    events_tell: bool
    """Whether the log reports changes: not if the server chooses by the context in its own way."""


_NOT: _ByTheServer = _ByTheServer(float("-inf"), events_tell=True)


class AgentReads:
    """The reads of agents of one client; `held` reads what may be cached."""

    def __init__(
        self,
        reads: Reads,
        held: Callable[[Call[Any]], Flow[Any]],
        clock: Callable[[], float],
        *,
        parts_cost_nothing: bool,
    ) -> None:
        """Take how to read; `parts_cost_nothing` if those that are held are read without a request."""
        self._reads = reads
        self._held = held
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
            found = self._by_the_server.get(name, _NOT)
            if self._clock() < found.until:
                return (yield from self._served(call, local, events_tell=found.events_tell))
        try:
            parts = yield from self._held(local.parts)
        except (ValidationFailed, Conflict) as error:
            if not (
                error.code == "parts_unavailable" or any(issue.field == "form" for issue in error.issues)
            ):
                raise
            is_too_old = isinstance(error, ValidationFailed)
            self._leave_to_the_server(_ANY if is_too_old else call.request.path, events_tell=is_too_old)
            return (yield from self._served(call, local, events_tell=is_too_old))
        try:
            return self._evaluated(call, local, parts)
        except CannotEvaluate:
            if not self._parts_cost_nothing:
                self._leave_to_the_server(call.request.path, events_tell=True)
            return (yield from self._served(call, local, events_tell=True))

    def _leave_to_the_server(self, name: str, *, events_tell: bool) -> None:
        self._by_the_server[name] = _ByTheServer(self._clock() + SERVER_SECONDS, events_tell)

    def _served(self, call: Call[Any], local: Local[Any], *, events_tell: bool) -> Flow[Any]:
        """Let the server evaluate an agent; without an answer, evaluate what is held as far as possible."""
        if self._reads.rests:
            key = yield from self._reads.key(call)
            offline = yield from self._offline(local)
            if offline is not None and (yield from self._reads.cached(call, key)) is None:
                return offline
        try:
            return (yield from self._held(call if events_tell else replace(call, events_tell=False)))
        except NO_ANSWER:
            offline = yield from self._offline(local)
            if offline is None:
                raise
            return offline

    def _offline(self, local: Local[Any]) -> Flow[Any]:
        """Return the agent evaluated from what is held as far as possible, as stale; None if impossible."""
        key = yield from self._reads.key(local.parts)
        held = yield from self._reads.cached(local.parts, key)
        if held is None:
            return None
        try:
            return replace(local.evaluate_offline(held.value), stale=True)
        except CannotEvaluate:
            return None

    def _evaluated(self, call: Call[Any], local: Local[Any], parts: Any) -> Any:
        """Evaluate an agent in a context, once as long as its parts stay the same."""
        asked = (call.request.path, call.request.query)
        known = self._results.get(asked)
        if known is None or known[0] is not parts.raw:
            known = (parts.raw, local.evaluate(parts))
            with self._lock:
                self._results[asked] = known
                while len(self._results) > MAX_ENTRIES:
                    self._results.popitem(last=False)
        return replace(known[1], stale=True) if parts.stale else known[1]
