"""The documents keep up with the code: settings, commands, links and the map of the house."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SETTINGS = sorted(set(re.findall(r'env\.\w+\("(\w+)"', (ROOT / "editor_project/settings.py").read_text())))
COMMANDS = sorted(path.stem for path in (ROOT / "versioning/management/commands").glob("[a-z]*.py"))
MODULES = sorted(path.stem for path in (ROOT / "versioning").glob("[a-z]*.py") if path.stem != "apps")


def test_there_is_something_to_document() -> None:
    assert (
        {"SECRET_KEY", "EDITOR_MAX_BODY"} <= set(SETTINGS) and "serve" in COMMANDS and "editor" not in MODULES
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_explained(setting: str) -> None:
    assert f"| `{setting}` |" in (ROOT / "docs/settings.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_explained(command: str) -> None:
    assert re.search(rf"^\| `{command}\b.*` \|", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_on_the_map(module: str) -> None:
    assert f" {module}.py" in (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_within_the_project_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
