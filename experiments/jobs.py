"""The jobs of workers for rollouts and runs."""

from __future__ import annotations

from typing import Final

from experiments.rollouts import stepping
from experiments.runs import remembering

JOBS: Final = (*remembering.JOBS, *stepping.JOBS)
