"""The models of the application, where Django looks for them."""

from __future__ import annotations

from typing import Final

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
from versioning.models.personal_data import names_in, sentences_in

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


PERSONAL_DATA: Final = (
    names_in("evaluation.Experiment", "author_name"),
    sentences_in("evaluation.Cell", "error_message"),
    sentences_in("evaluation.Score", "error_message"),
)
