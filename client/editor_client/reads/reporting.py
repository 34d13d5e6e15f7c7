"""Reports usage in the background: agents that were read, and numbers that the application adds.

Usage is summed up here and sent periodically, so that no read waits for it. Unsent usage is sent later; usage
that the server may have counted is not sent again, so that counts can be too low but never too high.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final, NamedTuple, TypedDict

from editor_client.calls import Request, encoded
from editor_client.reads.effects import Flow, InBackground, NoAnswer, Send, Sleep
from editor_client.reads.exchange import TOO_MANY, failure
from editor_client.reads.served import ServedAgent
from editor_client.result import with_json_names

logger = logging.getLogger("editor_client")

SECONDS: Final = 2.0
"""How long usage is collected before it is sent."""
MAX_WAITING: Final = 10_000
"""The maximum number of versions held while the server is unavailable."""
_UNAVAILABLE: Final = 503
_NOT_COUNTED: Final = frozenset({TOO_MANY, _UNAVAILABLE})
"""Refusals after which the server has not counted it."""


class UsedByRun(TypedDict, total=False):
    """The usage of a run."""

    errors: int
    """1 for a run that failed."""
    input_tokens: int
    output_tokens: int
    milliseconds: int


class Reported(NamedTuple):
    """The key of a report: a version of a resource, in an arm or none."""

    kind: str
    id: str
    version_id: str | None
    arm: str | None


class UsageReports:
    """A client's unreported usage."""

    def __init__(self, timeout: float, clock: Callable[[], float]) -> None:
        self._timeout = timeout
        self._clock = clock
        self._refused: set[int] = set()
        """The statuses that were already logged."""
        self.after_fork()

    def after_fork(self) -> None:
        """Start empty in a forked process: the parent reports its own usage."""
        self._lock = Lock()
        self._waiting: dict[Reported, Counter[str]] = {}
        self._is_scheduled = False

    def counted(self, reading: Flow[ServedAgent]) -> Flow[ServedAgent]:
        """Return the result of a read, and count it as a run of the agent and of the blocks that it shows."""
        served = yield from reading
        if served.source != "fallback":
            self.add(reported_of(served), {"runs": 1})
            for block in served.blocks:
                if block.shown and block.id is not None:
                    arm = (block.rollout or {}).get("arm")
                    self.add(Reported("promptBlock", block.id, block.version_id, arm), {"runs": 1})
            if (later := self.due()) is not None:
                yield InBackground(later)
        return served

    def add(self, reported: Reported, used: Mapping[str, int]) -> None:
        """Add numbers to the next report."""
        with self._lock:
            counts = self._waiting.get(reported)
            if counts is None:
                if len(self._waiting) >= MAX_WAITING:
                    del self._waiting[next(iter(self._waiting))]
                counts = self._waiting[reported] = Counter()
            counts.update(used)

    def due(self) -> Flow[None] | None:
        """Return the flow that will report soon, unless one was already started."""
        with self._lock:
            if self._is_scheduled:
                return None
            self._is_scheduled = True
        return self._later()

    def _later(self) -> Flow[None]:
        yield Sleep(SECONDS)
        with self._lock:
            self._is_scheduled = False
        yield from self.send()

    def send(self) -> Flow[None]:
        """Report the waiting usage, until the server does not answer."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                reported, used = self._waiting.popitem()
            if not (yield from self._is_settled(reported, used)):
                self.add(reported, used)
                return

    def _is_settled(self, reported: Reported, used: Mapping[str, int]) -> Flow[bool]:
        """Report one entry; return whether it need not be tried again."""
        body = {
            "resource": {"kind": reported.kind, "id": reported.id},
            "versionId": reported.version_id,
            **({} if reported.arm is None else {"arm": reported.arm}),
            "runs": 0,
            **with_json_names(used),
        }
        request = Request("POST", "/usage", body=encoded(body))
        try:
            answer = yield Send(request, self._clock() + self._timeout, while_closing=True)
        except NoAnswer as nothing:
            return nothing.sent
        if answer.status in _NOT_COUNTED:
            return False
        if answer.status >= 400 and answer.status not in self._refused:
            self._refused.add(answer.status)
            logger.warning("usage of %s %r is not counted: %s", reported.kind, reported.id, failure(answer))
        return True


def reported_of(served: ServedAgent) -> Reported:
    """Return the key under which the use of an agent is reported."""
    arm = (served.rollout or {}).get("arm")
    return Reported("agent", served.id, served.resolved_version_id, arm)


def checked_usage(used: UsedByRun) -> Mapping[str, int]:
    """Return the given numbers; raises `ValueError` unless they are integers from 0 on."""
    numbers: dict[str, int] = {}
    for name, number in used.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"{name} must be a whole number from 0 on, not {number!r}")
        numbers[name] = number
    return numbers
