"""Summing up feedback. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Summary:
    """The feedback on a version under one name."""

    version_id: str | None
    arm: str | None
    name: str
    count: int
    mean: float | None
    """The mean of the numbers; None if there are none."""
    counts: dict[str, int]
    """How often each text and each boolean was given."""


def summed(rows: Iterable[tuple[str, str, str, Any]]) -> list[Summary]:
    """Sum up feedback, which is given as version, arm, name and value, by the first three.

    It distinguishes `1`, `true` and `"1"`.
    """
    given: defaultdict[tuple[str, str, str], Counter[tuple[bool, Any]]] = defaultdict(Counter)
    for version_id, arm, name, value in rows:
        word = str(value).lower() if isinstance(value, bool) else value
        given[version_id, arm, name][isinstance(word, int | float), word] += 1
    return [
        Summary(version_id or None, arm or None, name, values.total(), _mean(values), _counts(values))
        for (version_id, arm, name), values in sorted(given.items())
    ]


def _mean(values: Mapping[tuple[bool, Any], int]) -> float | None:
    numbers = {value: count for (is_number, value), count in values.items() if is_number}
    total = sum(value * count for value, count in numbers.items())
    return total / sum(numbers.values()) if numbers else None


def _counts(values: Mapping[tuple[bool, Any], int]) -> dict[str, int]:
    return {value: count for (is_number, value), count in sorted(values.items()) if not is_number}
