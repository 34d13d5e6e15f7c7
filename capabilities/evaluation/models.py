"""The models of the application, where Django looks for them, and their personal data."""

from __future__ import annotations

from typing import Final

from capabilities.evaluation.datasets import models as datasets
from capabilities.evaluation.experiments import models as experiments
from capabilities.evaluation.gates import models as gates
from capabilities.evaluation.scoring import models as scoring
from versioning.models.personal_data import names_in, sentences_in

__all__ = ["datasets", "experiments", "gates", "scoring"]

PERSONAL_DATA: Final = (
    names_in("evaluation.Experiment", "author_name"),
    sentences_in("evaluation.Cell", "error_message"),
    sentences_in("evaluation.Score", "error_message"),
)
