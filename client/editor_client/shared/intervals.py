"""Confidence intervals of shares. Pure."""

from __future__ import annotations

from math import sqrt
from typing import Final

Z: Final = 1.959964
"""For intervals that contain the true value in 95 of 100 cases."""


def wilson(count: float, total: int) -> tuple[float, float]:
    """Return Wilson's interval of a share, which also holds for rare cases; of a mean of shares as well.

    Raises `ValueError` unless `count` lies between 0 and a positive `total`.
    """
    if not 0 <= count <= total or total == 0:
        raise ValueError(f"{count} of {total}")
    share, square = count / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    spread = Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return min(share, max(0.0, middle - spread)), max(share, min(1.0, middle + spread))
