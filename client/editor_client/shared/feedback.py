"""Summing up feedback. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Tally:
    """Values of feedback, counted; it distinguishes `1`, `true` and `"1"`."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[bool, Any]] = Counter()

    def add(self, value: float | str) -> None:
        """Count a number, a text or a boolean."""
        if isinstance(value, bool):
            self._counts[False, "true" if value else "false"] += 1
        else:
            self._counts[isinstance(value, int | float), value] += 1

    @property
    def count(self) -> int:
        """How many values there are."""
        return self._counts.total()

    @property
    def mean(self) -> float | None:
        """The mean of the numbers; None if there are none."""
        numbers = {value: count for (is_number, value), count in self._counts.items() if is_number}
        return (
            sum(value * count for value, count in numbers.items()) / sum(numbers.values())
            if numbers
            else None
        )

    @property
    def counts(self) -> dict[str, int]:
        """How often each text and each boolean was given."""
        return {value: count for (is_number, value), count in sorted(self._counts.items()) if not is_number}
