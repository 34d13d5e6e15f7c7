"""How many cells of a provider this process runs at the same time.

A provider that says that it is asked too often is asked by half as many, after the time that it names; each
answer then lets a little more through, up to the setting.

The last place of a provider is for a workspace that has none: long items of one do not delay another.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from django.conf import settings

MAX_WAIT: Final = 300.0
"""The longest time in seconds that a provider can ask for."""


@dataclass
class _Lane:
    limit: float
    running: Counter[str] = field(default_factory=Counter)
    """How many cells run, by workspace."""
    paused_until: float = 0.0


class Pacing:
    """The cells that run, by provider."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes: dict[str, _Lane] = {}
        self._lock = Lock()

    def has_room(self, provider: str, workspace: str) -> bool:
        """Return whether one more of the workspace may run now."""
        with self._lock:
            lane = self._lane(provider)
            free = int(lane.limit) - lane.running.total()
            least = 2 if lane.running[workspace] else 1
            return free >= least and self._clock() >= lane.paused_until

    def begin(self, provider: str, workspace: str) -> None:
        """Record that one runs."""
        with self._lock:
            self._lane(provider).running[workspace] += 1

    def end(self, provider: str, workspace: str) -> None:
        """Record that it does not run any more."""
        with self._lock:
            self._lane(provider).running -= Counter([workspace])

    def answered(self, provider: str) -> None:
        """Let a little more through: one more after as many answers as run at the same time."""
        with self._lock:
            lane = self._lane(provider)
            lane.limit = min(lane.limit + 1 / lane.limit, _most())

    def refused(self, provider: str, wait: float) -> None:
        """Let half as many through, after so many seconds; those asked before the pause count as one."""
        with self._lock:
            lane, now = self._lane(provider), self._clock()
            if now >= lane.paused_until:
                lane.limit = max(1.0, lane.limit / 2)
            lane.paused_until = max(lane.paused_until, now + wait)

    def _lane(self, provider: str) -> _Lane:
        return self._lanes.setdefault(provider, _Lane(limit=_most()))


def _most() -> float:
    return float(settings.EDITOR_EVALUATION_CONCURRENCY)


PACING: Final = Pacing()
"""Of this process."""
