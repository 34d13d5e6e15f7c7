"""The runtime needs no Django, no thread before the first run, and none after a fork."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from versioning.runtime.failures import redacted

ROOT = Path(__file__).parents[2]

FRAMEWORK = """
from versioning.runtime import Agent, Framework
echo = {"provider": "echo", "name": "echo"}
agent = Agent(id="a", name="A", instructions="text", model=echo)
Framework(agents=[agent])
"""


def run(program: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_the_runtime_runs_without_django_and_starts_a_thread_only_for_a_run() -> None:
    run(
        f"{FRAMEWORK}\nimport sys, threading\nassert threading.active_count() == 1\n"
        "agent.generate('hello')\nassert 'django' not in sys.modules"
    )


def test_a_forked_process_has_its_own_loop() -> None:
    run(
        f"""{FRAMEWORK}
import os
assert agent.generate('hello').text
child = os.fork()
if child == 0:
    os._exit(0 if agent.generate('child').text.endswith('child') else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert agent.generate('again').text
"""
    )


def test_reasons_contain_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("sk-proj-abc_DEF-123", "sk-abcd****wxyz", "plain-secret-of-the-environment"):
        for text in ("{}", "key {} is wrong", "Authorization: Bearer {}", '{{"key": "{}"}}'):
            monkeypatch.setenv("SOME_API_KEY", "plain-secret-of-the-environment")
            assert secret not in redacted(text.format(secret))
    for text in ("Incorrect API key provided: abc123.", "Authorization: Bearer abc123"):
        assert "abc123" not in redacted(text)
    assert len(redacted("x" * 10_000)) < 600
