"""Experiments as callers see them: with what their scorers say, and the items counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import prefetch_related_objects

from evaluation.experiments.models import Experiment, ExperimentScorer
from evaluation.experiments.summing import Summary, item_counts, summary_of


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
    def counts(self) -> dict[str, Any]:
        """The cells by state; `notScorable` are those that the primary scorer cannot score."""
        row = self.row
        primary = next((one.scorer_id for one in self.scorers if one.is_primary), None)
        without = [one["notScorable"] for one in self.summary if one["scorerId"] == primary]
        return {
            "cells": row.cells_count,
            "done": row.done_count,
            "errors": row.error_count,
            "skipped": row.skipped_count,
            "queued": row.queued_count,
            "notScorable": sum(without),
        }

    @property
    def spent(self) -> dict[str, int]:
        """What all tries used, those of judges included."""
        row = self.row
        return {
            "inputTokens": row.input_tokens,
            "outputTokens": row.output_tokens,
            "milliseconds": row.milliseconds,
        }


def shown(experiments: Iterable[Experiment]) -> list[ShownExperiment]:
    """Return experiments as callers see them; those that have ended were summed up then."""
    rows = list(experiments)
    prefetch_related_objects(rows, "scorers")
    return [
        ShownExperiment(row=row, scorers=list(row.scorers.all()), summary=summary_of(row)) for row in rows
    ]
