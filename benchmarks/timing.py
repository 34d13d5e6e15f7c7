"""How long work takes, by the clock and by the processor.

The processor time, including children, is least affected by other load on the machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter

Work = Callable[[], object]
Times = tuple[float, float]
"""Milliseconds of clock time, and of processor time."""


def milliseconds(work: Work, repetitions: int = 1) -> Times:
    """Return how long the work takes, as the mean of some repetitions."""
    start, start_cpu = perf_counter(), _processor()
    for _ in range(repetitions):
        work()
    took = perf_counter() - start, _processor() - start_cpu
    return took[0] * 1000 / repetitions, took[1] * 1000 / repetitions


def in_turns(contenders: Sequence[Work], repetitions: int) -> list[list[Times]]:
    """Return the times of each contender; they take turns in random order."""
    times: list[list[Times]] = [[] for _ in contenders]
    for _ in range(repetitions):
        for turn in random.sample(range(len(contenders)), len(contenders)):
            times[turn].append(milliseconds(contenders[turn]))
    return times


def _processor() -> float:
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
