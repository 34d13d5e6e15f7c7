"""Measurements for monitoring the service, and traces of a request through several programs.

The code reports events and marks where a unit of work begins and ends. A process that has a `Meter` counts
them (`editor_project.metrics`); one that has a `Tracer` reports the work as spans (`editor_project.traces`).
Without them, these calls return immediately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from versioning.domain.agents import ResolvedAgent

PARENT: Final = "traceparent"
MAX_LENGTH: Final = 55
"""The maximum length of the `traceparent` header."""

Attributes = Mapping[str, Any]
"""The attributes of a span by OpenTelemetry's names; those that are None are omitted."""
Headers = Mapping[str, str]
"""The headers of HTTP by lower-case names."""


class Span(Protocol):
    """A unit of work in progress."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def fail(self, kind: str) -> None:
        """Mark the work as failed, with the kind of error."""


class Tracer(Protocol):
    """Reports spans of this process."""

    def span(
        self, name: str, attributes: Attributes, *, kind: str, caller: Headers | None
    ) -> AbstractContextManager[Span]:
        """Return a span; `caller` are the headers of a request that it answers, which may name its parent."""

    def report_answer(self, method: str, path: str, status: int, seconds: float, caller: Headers) -> None:
        """Report a request that has just been answered, without child spans."""

    def route(self, path: str) -> str:
        """Return the template of an address."""

    def headers(self) -> dict[str, str]:
        """Return the headers that pass the current span on to another program."""

    def describing(self, attributes: Attributes) -> AbstractContextManager[None]:
        """Add attributes to all spans about models and tools within a block."""

    def load_runs(self) -> None:
        """Prepare this process for runs of agents; called before each."""


class _NoSpan:
    def set(self, attributes: Attributes) -> None:
        pass

    def fail(self, kind: str) -> None:
        pass


_tracers: Final[list[Tracer]] = []
_NO_SPAN: Final = nullcontext[Span](_NoSpan())


def use_tracers(*tracers: Tracer) -> None:
    """Set the tracer of this process, or none."""
    _tracers[:] = tracers


def is_traced() -> bool:
    return bool(_tracers)


def span(
    name: str, attributes: Attributes | None = None, *, kind: str = "internal", caller: Headers | None = None
) -> AbstractContextManager[Span]:
    """Return a span for a block of work; `kind` is `internal`, `server` or `client`."""
    for tracer in _tracers:
        return tracer.span(name, attributes or {}, kind=kind, caller=caller)
    return _NO_SPAN


@contextmanager
def request_span(method: str, path: str, caller: Headers) -> Iterator[Span]:
    """Open the span of a request; only if `is_traced`."""
    [tracer] = _tracers
    route = tracer.route(path)
    attributes = {"http.request.method": method, "http.route": route}
    with tracer.span(f"{method} {route}", attributes, kind="server", caller=caller) as opened:
        yield opened


def report_answer(method: str, path: str, status: int, seconds: float, caller: Headers) -> None:
    """Report a request that was answered from memory."""
    for tracer in _tracers:
        tracer.report_answer(method, path, status, seconds, caller)


def headers() -> dict[str, str]:
    """Return the headers that pass the current span on to another program; none without a tracer."""
    return _tracers[0].headers() if _tracers else {}


def parent() -> str | None:
    """Return the `traceparent` of the current span, for work that is done later; None without a tracer."""
    return headers().get(PARENT) if _tracers else None


def load_runs() -> None:
    """Prepare the tracer, if there is one, for runs of agents in this process."""
    for tracer in _tracers:
        tracer.load_runs()


@contextmanager
def running(agent: ResolvedAgent) -> Iterator[None]:
    """Add an agent, its version and its arm to all spans about models and tools within this block."""
    if not _tracers:
        yield
        return
    [tracer] = _tracers
    tracer.load_runs()
    with tracer.describing(span_attributes(agent)):
        yield


def span_attributes(agent: ResolvedAgent) -> Attributes:
    """Return the span attributes of an agent, without any of its content."""
    number, outcome = agent.resolved_version_number, agent.outcome or {}
    return {
        "gen_ai.agent.id": agent.id,
        "gen_ai.agent.version": None if number is None else str(number),
        "editor.version.id": agent.resolved_version_id,
        "editor.version.number": number,
        "editor.rollout.id": outcome.get("id"),
        "editor.rollout.arm": outcome.get("arm"),
    }


class Meter(Protocol):
    """Counts events in this process."""

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request and its duration."""

    def count(self, name: str, amount: float, **labels: str) -> None:
        """Add to a counter."""

    def level(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""

    def took(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""


_meters: list[Meter] = []


def use_meter(meter: Meter) -> None:
    """Set the meter of this process; it replaces an earlier one."""
    _meters[:] = [meter]


def is_measured() -> bool:
    return bool(_meters)


def count_request(method: str, path: str, status: int, seconds: float) -> None:
    for meter in _meters:
        meter.request(method, path, status, seconds)


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add to a counter; the labels have few values, and never an id, a name or a text."""
    for meter in _meters:
        meter.count(name, amount, **labels)


def level(name: str, value: float, **labels: str) -> None:
    for meter in _meters:
        meter.level(name, value, **labels)


def took(name: str, seconds: float, **labels: str) -> None:
    for meter in _meters:
        meter.took(name, seconds, **labels)
