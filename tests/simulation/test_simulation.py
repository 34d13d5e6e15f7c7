"""A small simulation with every run of the tests; `make simulate` runs a large one."""

from __future__ import annotations

from time import monotonic

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.simulation.machine import Simulation

LONGEST_LIFE = 200
LIFE = 80
"""Hypothesis ends a life sooner when it has drawn much: these are the steps of most lives, or fewer."""


@pytest.mark.database
def test_the_editor_does_and_refuses_what_the_oracle_says(db: None, steps: int) -> None:
    began, Simulation.steps = monotonic(), 0
    run_state_machine_as_test(
        Simulation,
        settings=settings(
            max_examples=max(steps // LIFE, 1),
            stateful_step_count=LONGEST_LIFE,
            deadline=None,
            phases=[Phase.generate],
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    made = Simulation.steps
    print(f"{made} steps, {made / (monotonic() - began):.0f} a second")  # noqa: T201  # shown by `make simulate`
