"""A small simulation with every run of the tests; `make simulate` runs a large one."""

from __future__ import annotations

from time import monotonic

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.simulation.machine import Simulation

STEPS_OF_A_LIFE = 200


@pytest.mark.database
def test_the_editor_does_and_refuses_what_the_oracle_says(db: None, steps: int) -> None:
    began = monotonic()
    run_state_machine_as_test(
        Simulation,
        settings=settings(
            max_examples=max(steps // STEPS_OF_A_LIFE, 1),
            stateful_step_count=STEPS_OF_A_LIFE,
            deadline=None,
            phases=[Phase.generate],
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{steps} steps, {steps / (monotonic() - began):.0f} a second")  # noqa: T201  # shown by `make simulate`
