"""The jobs of workers for rollouts and runs."""

from __future__ import annotations

from typing import Final

from capabilities.rollouts import stepping
from capabilities.rollouts.runs import remembering

JOBS: Final = (*remembering.JOBS, *stepping.JOBS)
