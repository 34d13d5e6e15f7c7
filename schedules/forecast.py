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
    before: str | None
    """What is live when its turn comes."""
    live: str | None
    """What is live afterwards."""


def is_unexpected(live: str | None, *, expects: str | None, is_forced: bool) -> bool:
    """Say whether something else is live than what a schedule expects, so that it does not happen."""
    return not is_forced and expects != live


def forecast(live: str | None, steps: Iterable[Step]) -> Iterator[Outcome]:
    """Yield what comes of each step, in the order of their times; `live` is what is live now."""
    for step in steps:
        before = live
        fails = is_unexpected(live, expects=step.expects, is_forced=step.is_forced)
        live = live if fails else step.makes_live
        yield Outcome(fails=fails, before=before, live=live)
