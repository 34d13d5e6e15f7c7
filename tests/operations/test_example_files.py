"""The files of the example that no test can run: a unit of systemd, and an environment."""

from __future__ import annotations

import configparser
import re
import shlex

from tests.support.nginx import EXAMPLE
from tests.support.pages import GUIDES, commands
from tests.support.service import ROOT


def test_the_unit_starts_a_process_as_the_page_does() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.read(EXAMPLE / "systemd/editor@.service")
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program == f"{unit['Service']['WorkingDirectory']}/.venv/bin/python"
    by_hand = shlex.split(commands(GUIDES / "deploy.md", "Install")[0].splitlines()[-1].replace("8001", "%i"))
    assert arguments == by_hand[1:]


def test_the_environment_file_sets_only_documented_settings() -> None:
    named = re.findall(r"^(\w+)=", (EXAMPLE / "editor.env").read_text(), re.MULTILINE)
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/settings.md").read_text(), re.MULTILINE)
    assert {"SECRET_KEY", "DATABASE_URL", "EDITOR_HTTPS"} <= set(named) <= set(explained)


def test_the_page_links_to_every_file() -> None:
    page = (GUIDES / "deploy.md").read_text()
    assert [path.name for path in EXAMPLE.rglob("*") if path.is_file() and path.name not in page] == []
