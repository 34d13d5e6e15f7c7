"""The guide is true: every block of Python in it runs, one after the other, against a real server."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.service import ROOT, Service
from versioning.client import AsyncClient, Client
from versioning.client.__main__ import main
from versioning.client.sync import Agent, StoredAgent, StoredPromptBlock

GUIDE = (ROOT / "docs/client.md").read_text()
PROGRAM = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^python -m versioning.client (.*?)(?:  +#.*)?$", GUIDE, re.MULTILINE)


def test_the_python_of_the_guide_runs(
    fresh_service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "\n".join(PROGRAM)
    for written, real in {
        "http://127.0.0.1:8000": fresh_service.url,
        "ek_…": fresh_service.key,
        "/var/cache/my-application": str(tmp_path / "cache"),
        "timeout=2": "timeout=60",  # this machine may have other work
    }.items():
        assert written in program
        program = program.replace(written, real)
    names: dict[str, object] = {}
    exec(compile(program, "docs/client.md", "exec"), names)
    client = names["client"]
    assert isinstance(client, Client)
    client.close()
    assert "tester ['content']" in capsys.readouterr().out


def test_the_commands_of_the_guide_run(
    live_service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR_URL", live_service.url)
    monkeypatch.setenv("EDITOR_API_KEY", live_service.key)
    assert [command.split()[0] for command in COMMANDS] == ["get", "pull", "diff", "push"]
    for command in COMMANDS:
        assert main(shlex.split(command)) == 0, command


@pytest.mark.parametrize("kind", [Client, AsyncClient, Agent, StoredAgent, StoredPromptBlock])
def test_the_guide_names_every_method(kind: type) -> None:
    methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    assert methods - {"perform", "events"} <= set(re.findall(r"`(\w+)`", GUIDE))


@pytest.mark.parametrize(
    "setting",
    ["timeout", "run_timeout", "retries", "max_age", "stale_while_revalidate", "cache_dir", "api_prefix"],
)
def test_the_guide_explains_every_setting(setting: str) -> None:
    assert f"| `{setting}` |" in GUIDE
