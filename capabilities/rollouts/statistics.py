"""Simple confidence intervals of counts. Pure.

They show the precision of a number, not which version is better: checking every day and stopping when it
looks good finds differences that are not real.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Final

from editor_client.shared.statistics import wilson

FEW: Final = 30
"""Below this number, a rate is too uncertain to be shown with an interval."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share of a total, with the interval that contains the true share in 95 of 100 cases."""

    count: int
    total: int
    low: float
    """From 0 to 1."""
    high: float
    """From 0 to 1."""

    @classmethod
    def of(cls, count: int, total: int) -> Rate | None:
        """Return the rate with Wilson's interval, which also holds for rare cases; None for an empty total.

        Raises `ValueError` unless `count` is from 0 to `total`.
        """
        if count == total == 0:
            return None
        low, high = wilson(count, total)
        return cls(count=count, total=total, low=low, high=high)

    @property
    def share(self) -> float:
        return self.count / self.total

    @property
    def is_of_few(self) -> bool:
        return self.total < FEW


def difference(first: Rate, second: Rate) -> tuple[float, float]:
    """Return the 95 % interval of the first share minus the second, by Newcombe's hybrid score method."""
    middle = first.share - second.share
    below = hypot(first.share - first.low, second.high - second.share)
    above = hypot(first.high - first.share, second.share - second.low)
    return middle - below, middle + above
