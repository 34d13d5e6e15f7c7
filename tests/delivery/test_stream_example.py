"""The example in JavaScript: it prints publications, and resumes where it stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.event_streams import until
from tests.support.remote import connected
from tests.support.service import ROOT, Service

pytestmark = pytest.mark.processes

PROGRAM = ROOT / "examples/follow_events/follow.mjs"


def test_the_example_misses_no_event_during_an_outage(fresh_service: Service, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("`node` is not installed, so the example cannot be run.")
    printed, failed = tmp_path / "printed", tmp_path / "failed"
    environment = {**os.environ, "EDITOR_URL": fresh_service.url, "EDITOR_API_KEY": fresh_service.key}
    with printed.open("wb") as out, failed.open("wb") as errors:
        program = subprocess.Popen([node, str(PROGRAM)], stdout=out, stderr=errors, env=environment)
    try:
        until(lambda: '"/api/events/stream"' in fresh_service.log, failed.read_text())
        with connected(fresh_service) as api:
            AGENTS.make(api, "first", autoPublish=True)
            until(lambda: "first" in printed.read_text())
            PROMPT_BLOCKS.make(api, "second", autoPublish=True)
        fresh_service.kill()
        until(failed.read_text)
        fresh_service.start()
        with connected(fresh_service) as api:
            AGENTS.save(api, "first", autoPublish=True)
            until(lambda: "first: version 2" in printed.read_text())
    finally:
        program.kill()
        program.wait()
    assert printed.read_text().splitlines() == [
        "first: version 1 by tester",
        "second: version 1 by tester",
        "first: version 2 by tester",
    ]
