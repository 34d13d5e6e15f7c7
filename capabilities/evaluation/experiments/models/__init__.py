"""Experiments, their cells and scores, and what people say of results.

A comparison reads cells and scores: `Cell.item_id` and `Cell.attempt` name what was asked, `Cell.revision`
has input and ground truth, `Score.passed` and `Score.value` what came of it.
"""

from capabilities.evaluation.experiments.models.cells import ENDED, Cell, CellQuerySet, State
from capabilities.evaluation.experiments.models.experiments import (
    MAX_CHOSEN_ID,
    MAX_GROUP,
    MAX_ID,
    MAX_NAME,
    RESCORED,
    Experiment,
    ExperimentQuerySet,
    ExperimentScorer,
    Outcome,
    TargetType,
    key_in,
    public_id,
)
from capabilities.evaluation.experiments.models.scores import Label, Score

__all__ = [
    "ENDED",
    "MAX_CHOSEN_ID",
    "MAX_GROUP",
    "MAX_ID",
    "MAX_NAME",
    "RESCORED",
    "Cell",
    "CellQuerySet",
    "Experiment",
    "ExperimentQuerySet",
    "ExperimentScorer",
    "Label",
    "Outcome",
    "Score",
    "State",
    "TargetType",
    "key_in",
    "public_id",
]
