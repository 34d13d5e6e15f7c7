"""The runtime needs no Django, no thread before the first run, and none after a fork."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from versioning.runtime.failures import redact

ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, sys, threading
from versioning.runtime import Agent, Framework
echo = {"provider": "echo", "name": "echo"}
agent = Agent(id="a", name="A", instructions="text", model=echo)
Framework(agents=[agent])
assert threading.active_count() == 1
assert agent.generate('hello').text
child = os.fork()
if child == 0:
    os._exit(0 if agent.generate('child').text.endswith('child') else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert agent.generate('again').text
assert 'django' not in sys.modules
"""


def test_the_runtime_runs_without_django_in_a_thread_that_starts_with_a_run_and_after_a_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_reasons_contain_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("sk-proj-abc_DEF-123", "sk-abcd****wxyz", "plain-secret-of-the-environment"):
        for text in ("{}", "key {} is wrong", "Authorization: Bearer {}", '{{"key": "{}"}}'):
            monkeypatch.setenv("SOME_API_KEY", "plain-secret-of-the-environment")
            assert secret not in redact(text.format(secret))
    for text in ("Incorrect API key provided: abc123.", "Authorization: Bearer abc123"):
        assert "abc123" not in redact(text)
    assert len(redact("x" * 10_000)) < 600
