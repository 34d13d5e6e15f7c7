"""The scores of a scorer: which there are, and which of them pass. Pure."""

from __future__ import annotations

from collections.abc import Mapping
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
"""How an answer is judged; the last eleven are kept for other runtimes."""
GRADED: Final = frozenset({"similarity", "llm-judge", "code", "external"})
"""The types that give a number; the others pass or fail, with a score of 1 or 0."""
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
    given = scorer.get("scoreRange") or {}
    low, high = given.get("min"), given.get("max")
    return 0.0 if low is None else low, 1.0 if high is None else high
