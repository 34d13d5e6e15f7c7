"""What will be live when, and which schedules will fail, if nothing else is published until then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one schedule is to do with a resource; versions are ids, None stands for nothing."""

    expects: str | None
    """What has to be live by then."""
    makes_live: str | None
    is_forced: bool = False
    """Whether it happens whatever is live by then."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What comes of a step."""

    fails: bool
    live: str | None
    """What is live afterwards."""


def forecast(live: str | None, steps: Iterable[Step]) -> Iterator[Outcome]:
    """Yield what comes of each step, in the order of their times; `live` is what is live now."""
    for step in steps:
        fails = not step.is_forced and step.expects != live
        live = live if fails else step.makes_live
        yield Outcome(fails=fails, live=live)
