"""The lint of the documents: `make check` prints every difference from the code, and fails.

Settings, commands, routes, events and codes of errors have to be explained; links need a
target; blocks of code have to run or to give a reason: tests/project/test_pages.py runs them.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from capabilities.evaluation.scoring.kind import SCORER
from tests.support.openapi import ROUTES
from tests.support.pages import PAGES, RUN, SHELVES, STUBS, Block, blocks
from tests.support.service import ROOT
from versioning.conf import Setting
from versioning.domain.agents import AGENT, PROMPT_BLOCK

SPEAKING = (
    "client/editor_client/shared",
    "capabilities",
    *(f"versioning/{room}" for room in ("api", "editor", "runtime", "sources", "serving", "domain")),
)
"""The folders whose errors and warnings have codes."""
NOT_SAID_BY_THE_API = {"error", "refused", "empty", "missed", "subject", "tool_not_mocked", "unchanged"}
"""Codes of a base class, the studio, commands and sign-in, and of problems and results in a response."""
OWN_FOLDERS = ("capabilities/", "client/", "editor_project/", "studio/", "tests/", "versioning/")
NOT_RUN_AT_MOST = 1 / 4
TROUBLESHOOTING = "docs/guides/troubleshooting.md"
BEFORE = {
    "embed-in-django": """
from pathlib import Path
from django.urls import URLPattern, URLResolver
BASE_DIR = Path()
MIDDLEWARE: list[str] = []
urlpatterns: list[URLPattern | URLResolver] = []
"""
}
"""What stands in the files to which a page has its reader add something: here what `startproject` writes."""
TEST = re.compile(r"\btests/[\w/]+\.py")
STORED = re.compile("/stored/(" + "|".join(kind.path for kind in (AGENT, PROMPT_BLOCK, SCORER)) + r")\b")
"""The routes of all kinds are explained by those of agents."""


def text(path: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / path).read_text()


def matches(pattern: str, written: str) -> bool:
    """Return whether a line of a text matches."""
    return re.search(pattern, written, re.MULTILINE) is not None


def name(page: Path) -> str:
    """Return the name of a page in a problem."""
    return str(page.relative_to(ROOT))


# The names to document


def settings() -> set[str]:
    """Return the settings that are read from the environment."""
    read = set(re.findall(r'env\.\w+\("(\w+)"', text("editor_project/settings.py")))
    return read | {one.name for one in declared_settings()}


def declared_settings() -> list[Setting]:
    """Return the settings of the editor as the `conf` of each package declares them."""
    folders = [path.parent for path in (*ROOT.glob("*/conf.py"), *ROOT.glob("capabilities/**/conf.py"))]
    modules = [".".join(folder.relative_to(ROOT).parts) for folder in folders]
    return [setting for module in modules for setting in import_module(f"{module}.conf").SETTINGS]


def commands() -> set[str]:
    """Return the commands of manage.py."""
    paths = "management/commands/[a-z]*.py"
    return {path.stem for path in (*ROOT.glob(f"*/{paths}"), *ROOT.glob(f"capabilities/*/{paths}"))}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE))


def events() -> set[str]:
    """Return the events of a stream."""
    return set(re.findall(r'_tell\(\s*"([\w-]+)"', text("versioning/runtime/transcripts.py")))


def codes() -> set[str]:
    """Return the codes of the errors and of the warnings that the server can answer with."""
    found: set[str] = set()
    for folder in SPEAKING:
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text()
            found.update(re.findall(r'\bcode ?= ?"(\w+)"', source))
            found.update(re.findall(r'\b(?:Notice|error_response)\(\s*(?:\d+,\s*)?"(\w+)"', source))
            found.update(re.findall(r'exceptions\.\w+: "(\w+)"', source))
    return found - NOT_SAID_BY_THE_API


# Missing explanations


def too_little_to_document() -> Iterator[str]:
    """Report kinds of names of which none was found, because the code is written in another way."""
    for found, known in (
        (settings(), {"SECRET_KEY", "EDITOR_MAX_BODY"}),
        (commands(), {"serve", "create_api_key"}),
        (targets(), {"check", "run"}),
        (events(), {"start", "text-delta", "tool-call", "error"}),
        (codes(), {"validation_failed", "throttled", "payload_too_large", "unknown_tool"}),
    ):
        for missing in sorted(known - found):
            yield f"tests/support/docs_lint.py no longer finds {missing} where it looks for it"


def unexplained() -> Iterator[str]:
    """Report settings, commands, targets, routes, events and codes without a row in their table."""
    commands_page, guide = text("docs/reference/commands.md"), text("docs/reference/api.md")
    readme, errors, runs = text("README.md"), text("docs/reference/errors.md"), text("docs/reference/runs.md")
    readable = readme + text("CONTRIBUTING.md")
    lines = re.findall(r"^\| `(\w+ /[^`]*)` \|", guide, re.MULTILINE)
    routes = {re.sub(r":\w+", "{}", line) for line in lines}
    told, lines_of_settings = text("docs/reference/settings.md"), {one.line for one in declared_settings()}
    for page, sort, found, is_explained in (
        ("docs/reference/settings.md", "setting", settings(), lambda one: f"| `{one}` |" in told),
        ("docs/reference/settings.md", "line", lines_of_settings, lambda line: f"\n{line}" in told),
        (
            "docs/reference/commands.md",
            "command",
            commands(),
            lambda one: matches(rf"^\| `{one}\b.*` \|", commands_page),
        ),
        ("README.md, CONTRIBUTING.md", "target of make", targets(), lambda one: f"`make {one}" in readable),
        (
            "docs/reference/api.md",
            "route",
            ROUTES,
            lambda one: {one, STORED.sub("/stored/agents", one)} & routes,
        ),
        ("docs/reference/runs.md", "event", events(), lambda one: f"\n| `{one}` |" in runs),
        ("docs/reference/errors.md", "code", codes(), lambda one: matches(rf"^\|.*`{one}`.*\|", errors)),
    ):
        yield from (f"{page}: nothing about the {sort} {one}" for one in found if not is_explained(one))


def outdated_sentences() -> Iterator[str]:
    """Report messages in the guide to troubleshooting that no code has: `…` stands for any text."""
    said: set[str] = set()
    for folder in ("capabilities", "client/editor_client", "editor_project", "studio", "versioning"):
        for path in (ROOT / folder).rglob("*.py"):
            constants = (getattr(node, "value", None) for node in ast.walk(ast.parse(path.read_text())))
            said.update(value for value in constants if isinstance(value, str) and " " in value)
    messages = "\n".join(said)
    rows = re.findall(r"^\| ([^|]*`[^|]*) \|", text(TROUBLESHOOTING), re.MULTILINE)
    quoted = [sentence for row in rows for sentence in re.findall(r"`([^`]+ [^`]+)`", row)]
    for sentence in quoted:
        parts = [part.strip() for part in re.split(r"…|EDITOR_\w*", sentence)]
        if not all(part in messages for part in parts):
            yield f"{TROUBLESHOOTING}: no code says {sentence!r}"


# Links


def broken_links() -> Iterator[str]:
    """Report broken links, pages that the index omits, and stubs that are more than a link."""
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text()):
            if not leads_somewhere(page, target, anchor):
                yield f"{name(page)}: {target}{anchor and f'#{anchor}'} leads nowhere"
    index = (ROOT / "docs/README.md").read_text()
    for page in (page for shelf in SHELVES for page in (ROOT / "docs" / shelf).glob("*.md")):
        address = f"{page.parent.name}/{page.name}"
        if f"]({address})" not in index:
            yield f"docs/README.md: does not name {address}"
    moved = rf"\A# .*\n\nThis page has moved to .*\]\((?:{'|'.join(SHELVES)})/.*\n\Z"
    for page in STUBS:
        if not matches(moved, page.read_text()):
            yield f"{name(page)}: this address is kept for links from elsewhere; the page belongs on a shelf"


def missing_modules() -> Iterator[str]:
    """Report modules in backticks that do not exist."""
    for page in PAGES:
        for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text()):
            if path.startswith(OWN_FOLDERS) and not (ROOT / path).exists():
                yield f"{name(page)}: there is no {path}"


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    """Return whether the file exists, with such a heading."""
    found = page.parent / target if target else page
    if not found.exists():
        return False
    headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE) if anchor else []
    return not anchor or anchor in {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


# Blocks of code


def wrong_blocks() -> Iterator[str]:
    """Report blocks of code that no test would run, or that are excused without a reason."""
    for page in PAGES:
        written, found = page.read_text(), blocks(page)
        if len(re.findall(r"^\s*(?:```|~~~)", written, re.MULTILINE)) != 2 * len(found):
            yield f"{name(page)}: a block of code is overlooked"
        notes = sum(len(block.shows) + (block.not_run is not None) for block in found)
        if len(re.findall(r"^ *<!-- (?:shows|not run):", written, re.MULTILINE)) != notes:
            yield f"{name(page)}: a note stands above no block of code"
        yield from (f"{block.place}: {problem}" for block in found if (problem := wrong_block(block)))
    programs = [block for page in PAGES for block in blocks(page) if block.language in RUN]
    if sum(is_never_run(block) for block in programs) > NOT_RUN_AT_MOST * len(programs):
        yield "Too many of the blocks of code are not run"


def is_never_run(block: Block) -> bool:
    """Return whether a block is run neither by following the page nor by a test that its reason names."""
    return block.not_run is not None and not TEST.search(block.not_run)


def wrong_block(block: Block) -> str | None:
    """Return the problem of one block."""
    if block.language not in {*RUN, "json", "text"}:
        return f"there is no language {block.language!r}"
    if block.language not in RUN and (block.shows or block.not_run is not None):
        return "only what could be run has notes"
    if block.not_run is not None and len(block.not_run.split()) <= 3:
        return "`not run` wants a reason"
    for test in TEST.findall(block.not_run or ""):
        if not (ROOT / test).is_file():
            return f"there is no {test}"
    if block.language == "json":
        try:
            json.loads(block.text)
        except ValueError as error:
            return f"no JSON: {error}"
    return None


def installed_by_name(program: str) -> set[str]:
    """Return the packages that the pages install from a registry."""
    shown = "\n".join(block.text for page in PAGES for block in blocks(page) if block.language == "sh")
    words = " ".join(re.findall(rf"\b{program} (?:install|i) ([^#\n]+)", shown)).split()
    return {word.strip("'\"") for word in words if not word.startswith(("-", ".", "'."))}


def wrong_installs() -> Iterator[str]:
    """Report untested packages that the pages install; on PyPI, `editor` is another project."""
    tested = json.loads(text("tests/api/npm_client/package.json"))["dependencies"]
    for program, wanted in (
        ("npm", {f"{package}@{version}" for package, version in tested.items()}),
        ("pip", {"flask", "httpx2", "standardwebhooks"}),
    ):
        if (found := installed_by_name(program)) != wanted:
            yield f"The pages let {program} install {sorted(found)}, and tested is {sorted(wanted)}"


def wrongly_typed_python() -> Iterator[str]:
    """Report the problems that strict type checks find in the Python of the pages, each page one program."""
    project = tomllib.loads(text("pyproject.toml"))["tool"]["mypy"]
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            if found := [block.text for block in blocks(page) if block.language == "python"]:
                program = Path(folder) / f"{page.stem}_{page.parent.name}.py"
                program.write_text("\n".join([BEFORE.get(page.stem, ""), *found]))
        checked = subprocess.run(
            # With the options and files of the project: mypy then reuses what it has found out about them.
            [sys.executable, "-m", "mypy", *project["files"], *sorted(Path(folder).glob("*.py"))],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if checked.returncode:
        yield from (line.replace(f"{folder}/", "") for line in (checked.stdout + checked.stderr).splitlines())


CHECKS: tuple[Callable[[], Iterator[str]], ...] = (
    too_little_to_document,
    unexplained,
    outdated_sentences,
    broken_links,
    missing_modules,
    wrong_blocks,
    wrong_installs,
    wrongly_typed_python,
)


def main() -> int:
    """Print every problem; the exit code is 1 if there is one."""
    found = [problem for check in CHECKS for problem in sorted(check())]
    for problem in found:
        print(problem)  # noqa: T201 - a program
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
