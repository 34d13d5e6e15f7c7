"""The options of `make simulate`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of steps; pytest knows it where this folder is named."""
    parser.addoption("--steps", type=int, default=500)


@pytest.fixture
def steps(pytestconfig: pytest.Config) -> int:
    """How many steps to simulate."""
    return int(pytestconfig.getoption("--steps", default=500))
