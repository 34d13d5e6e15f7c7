"""The service as the unmodified npm client sees it: `npm_client/drive.mjs` states the facts, one a line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

CLIENT = Path(__file__).parent / "npm_client"
MINIMUM_OF_CHECKS = 40
TIMEOUT_SECONDS = 120


class LiveService(Protocol):
    """A running service and the key of an admin of its workspace `default`."""

    @property
    def url(self) -> str: ...

    @property
    def key(self) -> str: ...


@pytest.fixture
def node() -> str:
    """The path of `node`; without it, or without the client, there is nothing to run."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("`node` is not installed, so the npm client cannot be run.")
    if not (CLIENT / "node_modules").is_dir():
        pytest.skip("The npm client is not installed: run `npm ci` in tests/api/npm_client.")
    return path


def test_the_npm_client_works_unmodified(node: str, live_service: LiveService) -> None:
    """Every method of the npm client that the contract covers does what the contract says."""
    environment = {**os.environ, "BASE_URL": live_service.url, "API_KEY": live_service.key}
    run = subprocess.run(
        [node, "drive.mjs"],
        cwd=CLIENT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    count = re.search(r"^(\d+) checks$", run.stdout, re.MULTILINE)
    assert run.returncode == 0, run.stdout
    assert count is not None and int(count[1]) >= MINIMUM_OF_CHECKS, run.stdout
