"""A small simulation with every run of the tests; `make simulate` runs a large one."""

from __future__ import annotations

from time import monotonic

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS
from hypothesis.stateful import run_state_machine_as_test

from tests.simulation.machine import Simulation

# By its own name, Hypothesis's backend draws five lives in six by changing a little in the one before.
AVAILABLE_PROVIDERS["independent"] = AVAILABLE_PROVIDERS["hypothesis"]
LIFE = 200
"""How many steps a life has."""


@pytest.mark.database
def test_the_editor_does_and_refuses_what_the_oracle_says(db: None, steps: int) -> None:
    began, Simulation.steps = monotonic(), 0
    try:
        run_state_machine_as_test(
            Simulation,
            settings=settings(
                max_examples=max(steps // LIFE, 1),
                stateful_step_count=LIFE,
                deadline=None,
                backend="independent",
                phases=[Phase.generate],
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        made = Simulation.steps
        print(f"{made} steps, {made / (monotonic() - began):.0f} a second")  # noqa: T201  # shown by `make simulate`
