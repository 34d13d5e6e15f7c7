"""The documents keep up with the code: settings, commands, routes, events, errors, links, the map.

tests/test_pages.py runs what they show; this file needs no server.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.openapi import ROUTES
from tests.support.pages import PAGES, RUN, Block, blocks, section
from tests.support.service import ROOT

SETTINGS = sorted(set(re.findall(r'env\.\w+\("(\w+)"', (ROOT / "editor_project/settings.py").read_text())))
COMMANDS = sorted(path.stem for path in ROOT.glob("*/management/commands/[a-z]*.py"))
TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
EVENTS = sorted(set(re.findall(r'_tell\(\s*"([\w-]+)"', (ROOT / "versioning/runtime/events.py").read_text())))
NOT_SAID_BY_THE_API = {"error", "last_admin", "refused"}
"""Codes of a base class, of the studio and of a command."""
GUIDE = (ROOT / "docs/api.md").read_text()
BLOCKS = [block for page in PAGES for block in blocks(page)]
MODULES = sorted(
    str(path.relative_to(ROOT).with_suffix(""))
    for package in ("client/editor_client", "editor_project", "studio", "versioning")
    for path in (ROOT / package).rglob("*.py")
    if path.stem != "__init__" and path.parent.name != "migrations"
)


def modules_on_the_map() -> Iterator[str]:
    """Yield the modules on the map of CONTRIBUTING: a folder in a line of its own, its modules farther in."""
    folders: list[tuple[int, str]] = []
    names = re.compile(r"^( +)([\w./]+(?:  [\w./]+)*)(?: {2,}.*)?$")
    for line in section(ROOT / "CONTRIBUTING.md", "The map").splitlines():
        if not (found := names.match(line)):
            continue
        depth, first = len(found[1]), found[2].split("  ")[0]
        folders = [(above, name) for above, name in folders if above < depth]
        if first.endswith("/"):
            folders.append((depth, first))
        else:
            folder = "".join(name for _, name in folders)
            yield from (f"{folder}{name}" for name in found[2].split("  "))


MAP = sorted(modules_on_the_map())


def codes() -> Iterator[str]:
    """Yield the codes of the errors and of the warnings that the server can answer with."""
    rooms = ("api", "editor", "runtime", "sources", "serving", "domain")
    for folder in ("client/editor_client/shared", *(f"versioning/{room}" for room in rooms)):
        for path in (ROOT / folder).glob("*.py"):
            text = path.read_text()
            yield from re.findall(r'\bcode ?= ?"(\w+)"', text)
            yield from re.findall(r'\b(?:Notice|plain)\(\s*(?:\d+,\s*)?"(\w+)"', text)
            yield from re.findall(r'exceptions\.\w+: "(\w+)"', text)


CODES = sorted(set(codes()) - NOT_SAID_BY_THE_API)


def test_there_is_something_to_document() -> None:
    assert {"SECRET_KEY", "EDITOR_MAX_BODY"} <= set(SETTINGS)
    assert "serve" in COMMANDS and "check" in TARGETS
    assert {"versioning/domain/access", "studio/forms/rules", "versioning/runtime/echo"} <= set(MODULES)
    assert {"start", "text-delta", "tool-call", "error"} <= set(EVENTS)
    assert {"validation_failed", "throttled", "payload_too_large", "unknown_tool"} <= set(CODES)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_explained(setting: str) -> None:
    assert f"| `{setting}` |" in (ROOT / "docs/settings.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_explained(command: str) -> None:
    assert re.search(rf"^\| `{command}\b.*` \|", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
def test_what_make_does_is_explained(target: str) -> None:
    readable = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert f"`make {target}" in readable


def test_every_module_is_on_the_map_once_and_nothing_else_is() -> None:
    missing, gone = set(MODULES) - set(MAP), set(MAP) - set(MODULES)
    assert (missing, gone, len(MAP)) == (set(), set(), len(MODULES))


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_explained(route: str) -> None:
    explained = re.findall(r"^\| `(\w+ /[^`]*)` \|", GUIDE, re.MULTILINE)
    assert route.replace("prompt-blocks", "agents") in {re.sub(r":\w+", "{}", found) for found in explained}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_of_a_stream_is_explained(event: str) -> None:
    assert f"\n| `{event}` |" in GUIDE


@pytest.mark.parametrize("code", CODES)
def test_a_code_of_an_error_or_a_warning_is_explained(code: str) -> None:
    assert re.search(rf"^\|.*`{code}`.*\|", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_within_the_project_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text())
    assert [(target, anchor) for target, anchor in targets if not leads_somewhere(page, target, anchor)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_a_page_is_in_the_index(page: Path) -> None:
    index = ROOT / "docs/README.md"
    assert page == index or f"]({page.name})" in index.read_text()


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    """Say whether there is such a file, and such a heading in it."""
    found = page.parent / target if target else page
    if not found.exists():
        return False
    if not anchor:
        return True
    headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Blocks of code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_of_code_is_overlooked(page: Path) -> None:
    text = page.read_text()
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(blocks(page))
    notes = sum(len(block.shows) + (block.not_run is not None) for block in blocks(page))
    assert len(re.findall(r"^ *<!-- (?:shows|not run):", text, re.MULTILINE)) == notes


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_of_code_is_run_or_says_why_not(block: Block) -> None:
    assert block.language in {*RUN, "json", "text"}
    assert block.language in RUN or not block.shows
    if block.not_run is not None:
        assert block.language in RUN and len(block.not_run.split()) > 3
    if block.language == "json":
        json.loads(block.text)


def installed_by_name(program: str) -> set[str]:
    """Return what the pages install from a registry."""
    lines = "\n".join(block.text for block in BLOCKS if block.language == "sh")
    words = " ".join(re.findall(rf"\b{program} (?:install|i) ([^#\n]+)", lines)).split()
    return {word.strip("'\"") for word in words if not word.startswith(("-", ".", "'."))}


def test_the_npm_client_is_installed_in_the_version_that_is_tested() -> None:
    tested = json.loads((ROOT / "tests/npm_client/package.json").read_text())["dependencies"]
    assert installed_by_name("npm") == {f"{name}@{version}" for name, version in tested.items()}


def test_no_page_installs_the_other_project_that_is_called_editor() -> None:
    assert installed_by_name("pip") == {"flask"}


def test_nearly_every_block_of_code_is_run() -> None:
    programs = [block for block in BLOCKS if block.language in RUN]
    assert sum(block.not_run is not None for block in programs) * 4 < len(programs)


def test_the_python_of_every_page_passes_the_strictest_types(tmp_path: Path) -> None:
    for page in PAGES:
        found = [block.text for block in blocks(page) if block.language == "python"]
        if found:
            (tmp_path / f"{page.stem}_{page.parent.name}.py").write_text("\n".join(found))
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *sorted(tmp_path.glob("*.py"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
