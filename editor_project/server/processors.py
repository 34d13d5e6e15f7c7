"""Bind each worker to a processor; docs/decisions/0010 explains why."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

LOOK: Final = 0.1
"""Seconds for which to observe the processors before the first choice."""

PERIOD: Final = 5.0
"""Seconds for which to observe them before another choice."""

CROWDED: Final = 0.3
"""The share of a processor that others may use before a worker looks for a better one."""

BETTER: Final = 0.2
"""The required difference in load of the other one."""

READINESS: Final = 0.5
"""The probability of moving then; workers that all move at once would collide again."""

_STAT: Final = Path("/proc/stat")
_GROUPS: Final = Path("/proc/self/cgroup")
_LIMITS: Final = Path("/sys/fs/cgroup")

Busy = Mapping[int, float]
"""The seconds for which each processor has worked so far."""


class Processors:
    """The processors among which workers choose; none if workers are not bound."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = list(order)
        self._chosen: int | None = None
        self._since = self._own = 0.0
        self._busy: Busy = {}

    @classmethod
    def detect(cls, wish: str) -> Processors:
        """Return the processors of this machine, the least busy first.

        `wish` is `on`, `off` or `auto`, which does not bind a process that is restricted to a part of the
        machine: the restriction is deliberate and may be shared.
        """
        if wish == "off" or not hasattr(os, "sched_setaffinity") or not _STAT.exists():
            return cls([])
        allowed = os.sched_getaffinity(0)
        if wish == "auto" and (len(allowed) < (os.cpu_count() or 1) or _has_quota()):
            return cls([])
        before = busy()
        time.sleep(LOOK)
        loads = shares(before, busy(), LOOK)
        # Equally busy ones are in random order, so that several services seldom begin with the same one.
        return cls(sorted(allowed, key=lambda cpu: (loads.get(cpu, 0), random.random())))  # noqa: S311

    def take(self, worker: int, workers: int) -> None:
        """Bind this process, the worker with this number (from 1), to a processor.

        Each worker moves among its own processors, if there are enough.
        """
        if self.order:
            first = (worker - 1) % len(self.order)
            self.order = self.order[first::workers]
            self._keep_to(self.order[0])

    def reconsider(self) -> None:
        """Move to another processor if this one has been shared for a while and another is less busy."""
        seconds = time.monotonic() - self._since
        if self._chosen is None or seconds < PERIOD:
            return
        loads = {
            cpu: share for cpu, share in shares(self._busy, busy(), seconds).items() if cpu in self.order
        }
        own = (time.process_time() - self._own) / seconds
        self._note()
        if self._chosen in loads:
            target = better({**loads, self._chosen: loads[self._chosen] - own}, self._chosen)
            if target is not None and random.random() < READINESS:  # noqa: S311
                self._keep_to(target)

    def _keep_to(self, processor: int) -> None:
        for thread in Path("/proc/self/task").iterdir():
            try:
                os.sched_setaffinity(int(thread.name), {processor})
            except ProcessLookupError:  # the process has ended since
                continue
            except OSError:  # the processor is no longer ours: let the system choose
                self._chosen = None
                return
        self._chosen = processor
        self._note()

    def _note(self) -> None:
        self._since, self._busy, self._own = time.monotonic(), busy(), time.process_time()


def better(loads: Mapping[int, float], chosen: int) -> int | None:
    """Return the processor to move to, None to stay; `loads` is each one's load by other processes."""
    target = min(loads, key=lambda cpu: loads[cpu])
    if loads[chosen] < CROWDED or loads[target] > loads[chosen] - BETTER:
        return None
    return target


def shares(before: Busy, after: Busy, seconds: float) -> dict[int, float]:
    """Return the share of the given seconds for which each processor was busy."""
    return {cpu: (after[cpu] - before[cpu]) / seconds for cpu in before.keys() & after.keys()}


def busy() -> Busy:
    lines = (line.split() for line in _STAT.read_text().splitlines())
    tick = os.sysconf("SC_CLK_TCK")
    # user, nice, system, idle, iowait, irq, softirq, steal
    return {
        int(name[3:]): (sum(map(int, times[:3])) + sum(map(int, times[5:8]))) / tick
        for name, *times in lines
        if name.startswith("cpu") and name != "cpu"
    }


def _has_quota() -> bool:
    groups = _GROUPS.read_text() if _GROUPS.exists() else ""
    own = [line.removeprefix("0::/") for line in groups.splitlines() if line.startswith("0::/")]
    files = [_LIMITS / "cpu/cpu.cfs_quota_us", *(_LIMITS / group / "cpu.max" for group in ["", *own])]
    limits = [file.read_text().split()[0] for file in files if file.is_file()]
    return any(limit not in {"max", "-1"} for limit in limits)
