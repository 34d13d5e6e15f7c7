"""Simple confidence intervals of counts. Pure.

They show how far a number can be trusted, and not which version is better: checking every day and stopping
when it looks good will find a difference where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

Z: Final = 1.96
"""For intervals that contain the true value in 95 of 100 cases."""
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

        Raises `ValueError` unless `count` lies between 0 and `total`.
        """
        if not 0 <= count <= total:
            raise ValueError(f"{count} of {total}")
        if total == 0:
            return None
        share, square = count / total, Z * Z
        middle = (share + square / (2 * total)) / (1 + square / total)
        spread = Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
        return cls(
            count=count,
            total=total,
            low=min(share, max(0.0, middle - spread)),
            high=max(share, min(1.0, middle + spread)),
        )

    @property
    def share(self) -> float:
        """The share, from 0 to 1."""
        return self.count / self.total

    @property
    def is_of_few(self) -> bool:
        """Whether the total is too small to be meaningful."""
        return self.total < FEW
