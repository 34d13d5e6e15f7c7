"""The models of the application, where Django looks for them."""

from __future__ import annotations

from evaluation.datasets.models import Dataset, DatasetVersion, Item, Revision
from evaluation.scoring.models import (
    Scorer,
    ScorerDocument,
    ScorerLabel,
    ScorerReference,
    ScorerTag,
    ScorerVersion,
)

__all__ = [
    "Dataset",
    "DatasetVersion",
    "Item",
    "Revision",
    "Scorer",
    "ScorerDocument",
    "ScorerLabel",
    "ScorerReference",
    "ScorerTag",
    "ScorerVersion",
]
