"""Score the outputs of cells by pinned scorers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from capabilities.evaluation.experiments.models import Cell, ExperimentScorer
from capabilities.evaluation.scoring.scoring import MISSING, Attempt, Outcome, Problem, Unscored, score
from versioning.conf import get_framework

JUDGE: Final = "llm-judge"
EXTERNAL: Final = "external"
NewScore = tuple[str, str, Outcome, Mapping[str, Any]]
"""A scorer's id, its version, what it says, and further members of the score."""


def attempt_at(cell: Cell, output: Any) -> Attempt:
    """Return what is scored: the item, and the output to it."""
    truth = cell.member("groundTruth")
    has_tokens = cell.input_tokens or cell.output_tokens
    return Attempt(
        input=cell.member("input"),
        output=output,
        ground_truth=MISSING if truth is None else truth,
        metadata=cell.member("metadata") or {},
        tool_calls=cell.detail.get("toolCalls"),
        tokens=cell.input_tokens + cell.output_tokens if has_tokens else None,
        milliseconds=cell.milliseconds,
    )


def scored(
    cell: Cell, output: Any, scorers: Iterable[ExperimentScorer], *, asks_models: bool = True
) -> Iterator[NewScore]:
    """Yield what each scorer says of the output of a cell; external ones say nothing.

    An item can name the scorers for it (`scorerIds`): the others do not apply. Without `asks_models` judges
    are left out.
    """
    attempt, functions = attempt_at(cell, output), get_framework().scorers
    for scorer in scorers:
        kind = scorer.config["type"]
        if kind == EXTERNAL or (kind == JUDGE and not asks_models):
            continue
        if names_others(cell, scorer):
            outcome = Outcome(not_scorable=Unscored("The item names other scorers."))
        else:
            outcome = score(scorer.config, attempt, functions, scorer.instructions)
        yield scorer.scorer_id, scorer.version_id, outcome, {}


def names_others(cell: Cell, scorer: ExperimentScorer) -> bool:
    """Return whether the item names scorers, and this is none of them."""
    named = cell.member("scorerIds")
    return named is not None and scorer.scorer_id not in named


def cut(scorers: Iterable[ExperimentScorer]) -> Iterator[NewScore]:
    """Yield that an output of which only the beginning is kept cannot be scored again."""
    problem = Problem("output_cut", "Only the beginning of the output is kept; run the item again.")
    for scorer in scorers:
        if scorer.config["type"] != EXTERNAL:
            yield scorer.scorer_id, scorer.version_id, Outcome(error=problem), {}
