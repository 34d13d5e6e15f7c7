"""Experiments as callers see them: what scorers say, summed up, and the items counted.

An item counts once for all its attempts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import (
    Avg,
    Case,
    Count,
    FloatField,
    Q,
    QuerySet,
    Value,
    When,
    prefetch_related_objects,
)
from editor_client.shared.statistics import wilson

from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer, Score, State

Summary = dict[str, Any]


def summary_of(experiment: Experiment) -> list[Summary]:
    """Return the summary of each scorer: the stored one of an experiment that has ended."""
    if experiment.summary_json:
        found: list[Summary] = json.loads(experiment.summary_json)
        return found
    return summed_up(experiment)


def summed_up(experiment: Experiment) -> list[Summary]:
    """Return the summary of each scorer, pinned ones first.

    `n` are the items with a score. `passRate` is the mean over them of the share of their attempts that
    passed, `passed` are those that passed in every attempt, and `flaky` those that passed in some only.
    """
    scores = Score.objects.filter(run_id=experiment.pk, cell__isnull=False).order_by()
    pinned = list(experiment.scorers.values_list("scorer_id", flat=True))
    others = scores.exclude(scorer_id__in=pinned).values_list("scorer_id", flat=True).distinct()
    return [_of_scorer(other, scores.filter(scorer_id=other)) for other in [*pinned, *sorted(others)]]


def _of_scorer(scorer_id: str, scores: QuerySet[Score]) -> Summary:
    passed = Case(When(passed=True, then=Value(1.0)), default=Value(0.0), output_field=FloatField())
    items = (
        scores.filter(value__isnull=False)
        .values("entity_id")
        .annotate(mean_value=Avg("value"), rate=Avg(passed), known=Count("passed"))
    )
    sums = items.aggregate(
        n=Count("entity_id"),
        mean=Avg("mean_value"),
        judged=Count("entity_id", filter=Q(known__gt=0)),
        rate_=Avg("rate", filter=Q(known__gt=0)),
        passed=Count("entity_id", filter=Q(known__gt=0, rate=1)),
        flaky=Count("entity_id", filter=Q(rate__gt=0, rate__lt=1)),
    )
    without = scores.aggregate(
        errors=Count("pk", filter=~Q(error_code="")), not_scorable=Count("pk", filter=~Q(not_scorable=""))
    )
    n, rate = sums["judged"], sums["rate_"]
    return {
        "scorerId": scorer_id,
        "n": sums["n"],
        "passed": sums["passed"],
        "passRate": rate,
        "interval": None if rate is None else list(wilson(min(rate * n, n), n)),
        "mean": sums["mean"],
        "flaky": sums["flaky"],
        "errors": without["errors"],
        "notScorable": without["not_scorable"],
    }


def item_counts(experiment: Experiment) -> dict[str, int]:
    """Return how many items succeeded in at least one attempt, failed in all of them, or were skipped."""
    if experiment.attempts == 1:
        return {
            "succeeded": experiment.done_count,
            "failed": experiment.error_count,
            "skipped": experiment.skipped_count,
        }
    items = Cell.objects.filter(experiment=experiment).order_by().values("item_id")
    states = items.annotate(
        done=Count("pk", filter=Q(state=State.DONE)),
        errors=Count("pk", filter=Q(state=State.ERROR)),
        queued=Count("pk", filter=Q(state=State.QUEUED)),
    )
    return states.aggregate(
        succeeded=Count("item_id", filter=Q(done__gt=0)),
        failed=Count("item_id", filter=Q(done=0, errors__gt=0, queued=0)),
        skipped=Count("item_id", filter=Q(done=0, errors=0, queued=0)),
    )


@dataclass(frozen=True, kw_only=True)
class ShownExperiment:
    """An experiment with what is read from its cells and scores."""

    row: Experiment
    scorers: Sequence[ExperimentScorer]
    summary: Sequence[Summary]

    @cached_property
    def items(self) -> Mapping[str, int]:
        """How many `succeeded`, `failed` and were `skipped`."""
        return item_counts(self.row)

    @property
    def not_scorable(self) -> int:
        """How many cells the primary scorer cannot score."""
        primary = next((scorer.scorer_id for scorer in self.scorers if scorer.is_primary), None)
        return sum(one["notScorable"] for one in self.summary if one["scorerId"] == primary)


def shown(experiments: Iterable[Experiment]) -> list[ShownExperiment]:
    """Return experiments as callers see them; those that have ended were summed up then."""
    rows = list(experiments)
    prefetch_related_objects(rows, "scorers")
    return [
        ShownExperiment(row=row, scorers=list(row.scorers.all()), summary=summary_of(row)) for row in rows
    ]
