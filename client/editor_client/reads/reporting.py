"""Reports usage in the background: agents that were read, and numbers that the application adds.

Usage is summed up here and sent periodically, so that no read waits for it. Unsent usage is sent later; usage
that the server may have counted is not sent again, so that counts can be too low but never too high.
"""

from __future__ import annotations

import datetime
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from threading import Lock
from typing import Final, Literal, NamedTuple, TypedDict, Unpack

from editor_client.calls import Call, Request, ResourceKind, encode_json, query, reading
from editor_client.methods import Driver, Page, Paging, iterating, listing, method
from editor_client.reads.agents import ServedAgent
from editor_client.reads.exchange import TOO_MANY, Flow, InBackground, NoAnswer, Send, Sleep, failure
from editor_client.result import Result, Success, with_json_names

logger = logging.getLogger("editor_client")

SECONDS: Final = 2.0
"""The seconds for which usage is collected before it is sent."""
MAX_WAITING: Final = 10_000
"""The maximum number of versions held while the server is unavailable."""
_UNAVAILABLE: Final = 503
_NOT_COUNTED: Final = frozenset({TOO_MANY, _UNAVAILABLE})
"""Refusals that mean that the server has not counted the usage."""


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

    def count_run(self, reading: Flow[ServedAgent]) -> Flow[ServedAgent]:
        """Return the result of a read, and count it as a run of the agent and of the blocks that it shows."""
        served = yield from reading
        if served.source != "fallback":
            self.add(reporting_key(served), {"runs": 1})
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
        """Report the pending usage, until the server does not answer."""
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
        request = Request("POST", "/usage", body=encode_json(body))
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


def reporting_key(served: ServedAgent) -> Reported:
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


FeedbackValue = bool | int | float | str


class Cost(Result):
    """An estimate of the cost of models."""

    amount: str
    """A decimal number."""
    currency: Literal["USD"]
    estimate: bool
    prices_of: str
    """The date of the price list."""


class UsageOfVersion(Result):
    """The usage of a version, in one arm or none."""

    version_id: str | None = None
    """None for the version defined in code."""
    version_number: int | None = None
    arm: str | None = None
    runs: int
    errors: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: Cost | None = None
    """None if the price of a model is unknown."""
    first_used_at: datetime.datetime
    last_used_at: datetime.datetime


class UsageList(Result):
    """The usage of a resource's versions, last used first."""

    usage: tuple[UsageOfVersion, ...]


class FeedbackRecord(Result):
    """Feedback on a version."""

    id: str
    version_id: str | None = None
    arm: str | None = None
    run_id: str | None = None
    name: str
    value: FeedbackValue
    comment: str
    external_id: str | None = None
    created_at: datetime.datetime


class FeedbackPage(Page[FeedbackRecord]):
    """A page of feedback."""

    feedback: tuple[FeedbackRecord, ...]


class FeedbackOfVersion(Result):
    """The feedback on a version under one name."""

    version_id: str | None = None
    arm: str | None = None
    name: str
    count: int
    mean: float | None = None
    """The mean of the numbers."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The counts of the texts and booleans."""


class FeedbackSummary(Result):
    """The feedback on a resource, summed up."""

    summary: tuple[FeedbackOfVersion, ...]


class Used(TypedDict, total=False):
    """An application's usage."""

    arm: str
    runs: int
    errors: int
    input_tokens: int
    output_tokens: int
    milliseconds: int


class FeedbackFilters(Paging, total=False):
    """The subject and the filters of a list of feedback."""

    kind: ResourceKind
    id: str
    version_id: str
    name: str


class FeedbackFields(TypedDict, total=False):
    """The subject and further values of feedback."""

    run_id: str
    """The run, which determines the version and the arm."""
    version_id: str | None
    arm: str
    comment: str
    external_id: str
    """Repeated feedback with the same id counts once."""


class UsageMethods(Driver):
    """The methods of a client for usage and feedback."""

    @method
    def summarize_usage(
        self, kind: ResourceKind, resource_id: str, *, since: str | None = None, until: str | None = None
    ) -> Call[UsageList]:
        """Sum up the usage of a resource; `since` and `until` are days in UTC, both included."""
        about = query(kind=kind, id=resource_id, **{"from": since, "to": until})
        return Call.to("GET", "/usage", reading(UsageList), query=about)

    @method
    def send_usage(
        self, kind: ResourceKind, resource_id: str, version_id: str | None, **used: Unpack[Used]
    ) -> Call[Success]:
        """Report an application's own usage of a version, if it calls the model itself."""
        body = {
            "resource": {"kind": kind, "id": resource_id},
            "versionId": version_id,
            **with_json_names(used),
        }
        return Call.to("POST", "/usage", reading(Success), body=body)

    @method
    def list_feedback(self, **filters: Unpack[FeedbackFilters]) -> Call[FeedbackPage]:
        """List the feedback on a resource (`kind` and `id`), newest first."""
        return listing("/feedback", FeedbackPage, filters)

    iter_feedback = iterating(list_feedback)

    @method
    def send_feedback(
        self,
        name: str,
        value: FeedbackValue,
        *,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        **fields: Unpack[FeedbackFields],
    ) -> Call[FeedbackRecord]:
        """Give feedback on a run (`run_id`), or on a version (`kind`, `resource_id` and `version_id`)."""
        about = {} if resource_id is None else {"resource": {"kind": kind or "agent", "id": resource_id}}
        body = {**about, **with_json_names(fields), "name": name, "value": value}
        return Call.to("POST", "/feedback", reading(FeedbackRecord), body=body)

    @method
    def summarize_feedback(self, kind: ResourceKind, resource_id: str) -> Call[FeedbackSummary]:
        """Sum up the feedback on a resource, by version, arm and name."""
        about = query(kind=kind, id=resource_id)
        return Call.to("GET", "/feedback/summary", reading(FeedbackSummary), query=about)
