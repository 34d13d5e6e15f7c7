"""A prompt in Git: its commits are viewed in the studio, restored, and never changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.support.api import AGENTS
from tests.support.override_files import Repository
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]

HISTORY = "versioning/agent/support/history/"


@pytest.fixture
def committed(overrides: Repository) -> tuple[str, str]:
    """Two commits of the override of `support`, by their short ids, oldest first."""
    found = []
    for second, text in enumerate(("Answer in a word.", "Answer in a sentence.")):
        overrides.put({"instructions": text}, "support")
        version_id = overrides.commit(f"Say: {text}", at=f"2026-01-01T12:00:0{second}Z")
        found.append(version_id.removeprefix("git-")[:7])
    return found[0], found[1]


def clean(page: Page) -> None:
    assert flaws(page) == []


def test_a_git_version_is_viewed_and_restored(
    enter: Enter, api_of: ApiOf, overrides: Repository, committed: tuple[str, str]
) -> None:
    page = enter("root", HISTORY, width=NARROW)
    clean(page)
    line = page.get_by_role("row").filter(has_text=f"Git {committed[0]}")
    expect(line).to_contain_text("Say: Answer in a word.")
    expect(line).to_contain_text("Ann Author")
    line.get_by_role("link", name=f"Git {committed[0]}", exact=True).click()
    expect(page.locator("#content").get_by_text("Answer in a word.").first).to_be_visible()
    expect(page.get_by_text("It is kept in Git, so it cannot be edited")).to_be_visible()
    expect(page.get_by_role("link", name="Delete this version…")).to_have_count(0)
    clean(page)
    page.get_by_role("button", name="Restore as a draft").click()
    expect(page.get_by_text(f"is a copy of Git {committed[0]}, and a draft")).to_be_visible()
    draft = api_of("root").get(AGENTS.url("support"), status="draft").body
    assert draft["instructions"].startswith("Answer in a word.")
    assert overrides.config("support")["instructions"].startswith("Answer in a sentence.")
