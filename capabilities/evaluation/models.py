"""The models of the application, where Django looks for them."""

from __future__ import annotations

from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Item, Revision
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer, Label, Score
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.scoring.models import (
    Scorer,
    ScorerDocument,
    ScorerLabel,
    ScorerReference,
    ScorerTag,
    ScorerVersion,
)

__all__ = [
    "Cell",
    "Dataset",
    "DatasetVersion",
    "Experiment",
    "ExperimentScorer",
    "Gate",
    "Item",
    "Label",
    "Revision",
    "Score",
    "Scorer",
    "ScorerDocument",
    "ScorerLabel",
    "ScorerReference",
    "ScorerTag",
    "ScorerVersion",
]
