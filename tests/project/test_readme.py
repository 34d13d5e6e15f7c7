"""The comparison lists every installed capability, and denies none; the README lists every example."""

from __future__ import annotations

import re

from django.conf import settings
from django.utils.translation import get_language_info

from tests.support.pages import section
from tests.support.service import ROOT

README = ROOT / "README.md"
COMPARISON = ROOT / "docs/explanation/comparison.md"
CAPABILITIES = {
    "accounts": "../guides/add-people.md",
    "delivery": "../guides/receive-webhooks.md",
    "evaluation": "../guides/score-answers.md",
    "rollouts": "../guides/run-an-ab-test.md",
    "mail": "../guides/send-mail.md",
    "releases": "../guides/release-together.md",
    "review": "../guides/require-approvals.md",
    "schedules": "../guides/schedule.md",
}
"""The page of each application that can be left out."""
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

Row = tuple[str, str]


def compared() -> list[Row]:
    """Return the rows of the comparison: its subject, and the entry for the editor."""
    tables = (section(COMPARISON, name) for name in ("Publishing", "Reading, running, measuring"))
    rows = [line.strip("| ").split(" | ") for table in tables for line in table.splitlines()]
    return [(row[0], row[1]) for row in rows if len(row) > 2]


def test_every_application_of_ours_has_a_page() -> None:
    apps = (name.rpartition(".") for name in settings.INSTALLED_APPS)
    assert {name for package, _dot, name in apps if package == "capabilities"} == CAPABILITIES.keys()


def test_the_comparison_lists_installed_capabilities_which_nothing_else_denies() -> None:
    for page in CAPABILITIES.values():
        about = [(title, said) for title, said in compared() if f"({page})" in said]
        assert about and all(said.startswith("yes") for _title, said in about)
        not_done = section(COMPARISON, "What the editor does not do").lower()
        assert not [title for title, _said in about if title in not_done]


def test_a_sentence_that_names_a_language_names_all() -> None:
    names = {get_language_info(code)["name"] for code, _name in settings.LANGUAGES}
    sentences = [one for one in re.split(r"(?<=[.:])\s", COMPARISON.read_text()) if "studio" in one.lower()]
    found = [names & set(re.findall(r"\w+", sentence)) for sentence in sentences]
    assert [some for some in found if some] == [names]


def test_every_example_is_listed() -> None:
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/*") if path.is_file()}
    folders -= {"__pycache__"}
    listed = re.findall(r"^\| \[(\w+)\]", (ROOT / "examples/README.md").read_text(), re.MULTILINE)
    assert set(listed) == folders
    [before] = re.findall(r"(\w+) \[examples\]\(examples/README\.md\)", README.read_text())
    assert before not in NUMBERS or NUMBERS.index(before) == len(folders)
