"""The models, for Django."""

from evaluation.scoring.models import (
    Scorer,
    ScorerDocument,
    ScorerLabel,
    ScorerReference,
    ScorerTag,
    ScorerVersion,
)

__all__ = ["Scorer", "ScorerDocument", "ScorerLabel", "ScorerReference", "ScorerTag", "ScorerVersion"]
