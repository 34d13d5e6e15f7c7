"""A result of an experiment, as pages show it."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.experiments.models import Cell, Score
from versioning.domain import written


@dataclass(frozen=True)
class Result:
    """What was answered in an attempt at an item."""

    cell: Cell

    @property
    def input(self) -> str:
        """What was asked; empty once the dataset is gone."""
        value = self.cell.member("input")
        return "" if value is None else written.shown(value)

    @property
    def reference(self) -> str:
        """What a good answer would have been; empty without one."""
        value = self.cell.member("groundTruth")
        return "" if value is None else written.shown(value)

    @property
    def output(self) -> str:
        """The answer."""
        return written.shown(self.cell.output) if self.cell.output_json else ""

    @property
    def scores(self) -> list[Score]:
        """What the scorers say of it, by their ids."""
        return sorted(self.cell.scores.all(), key=lambda one: one.scorer_id)
