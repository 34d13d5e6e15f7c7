"""The models of the application, where Django looks for them."""

from __future__ import annotations

from experiments.feedback.models import Feedback
from experiments.rollouts.models import Rollout, RolloutStep
from experiments.runs.models import ServedRun
from experiments.usage.models import Usage

__all__ = ["Feedback", "Rollout", "RolloutStep", "ServedRun", "Usage"]
