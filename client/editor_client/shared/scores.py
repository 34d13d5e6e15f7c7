"""Scores of scorers, and whether they pass; sums of users' feedback. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Config = Mapping[str, Any]

ScorerType = Literal[
    "equals",
    "contains",
    "startsWith",
    "endsWith",
    "regex",
    "jsonSchema",
    "jsonEquals",
    "numeric",
    "similarity",
    "calledTool",
    "maxTokens",
    "maxMilliseconds",
    "llm-judge",
    "code",
    "external",
    "answer-relevancy",
    "answer-similarity",
    "bias",
    "context-precision",
    "context-relevance",
    "faithfulness",
    "hallucination",
    "noise-sensitivity",
    "prompt-alignment",
    "tool-call-accuracy",
    "toxicity",
]
"""The types of scorers; the last eleven are stored for other runtimes."""
GRADED: Final = frozenset({"similarity", "llm-judge", "code", "external"})
"""The types that return a number; the others pass or fail, with a score of 1 or 0."""
TIE: Final = 0.05
"""The share of its range up to which two values of a scorer count as equal, by default."""


def passes(scorer: Config, value: float) -> bool:
    """Return whether a score passes: `passIf`, whose minimum defaults to the middle of the range."""
    limits = scorer.get("passIf") or {}
    low, high = bounds(scorer) if scorer["type"] in GRADED else (0.0, 1.0)
    least, most = limits.get("min"), limits.get("max")
    if least is None and most is None:
        least = (low + high) / 2
    return (least is None or value >= least) and (most is None or value <= most)


def bounds(scorer: Config) -> tuple[float, float]:
    """Return the range of the scores of a scorer."""
    score_range = scorer.get("scoreRange") or {}
    low, high = score_range.get("min"), score_range.get("max")
    return 0.0 if low is None else low, 1.0 if high is None else high


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
    """The number of times each text and each boolean was given."""


def sum_feedback(rows: Iterable[tuple[str, str, str, Any]]) -> list[Summary]:
    """Sum up feedback, given as version, arm, name and value, by the first three.

    It distinguishes `1`, `true` and `"1"`.
    """
    counters: defaultdict[tuple[str, str, str], Counter[tuple[bool, Any]]] = defaultdict(Counter)
    for version_id, arm, name, value in rows:
        word = str(value).lower() if isinstance(value, bool) else value
        counters[version_id, arm, name][isinstance(word, int | float), word] += 1
    summaries = []
    for (version_id, arm, name), values in sorted(counters.items()):
        numbers = {value: count for (is_number, value), count in values.items() if is_number}
        total = sum(value * count for value, count in numbers.items())
        mean = total / sum(numbers.values()) if numbers else None
        counts = {value: count for (is_number, value), count in sorted(values.items()) if not is_number}
        summaries.append(Summary(version_id or None, arm or None, name, values.total(), mean, counts))
    return summaries
