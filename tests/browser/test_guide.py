"""The guide for editors is correct: its first change is made on the examples that `make run` loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import sign_in
from tests.browser.prompts import editor
from tests.support.pages import section
from tests.support.service import ROOT, Service, running_service

STEPS = section(ROOT / "docs/guides/change-a-prompt.md", "A first change")
NAMED = {
    "Agents",
    "Front desk",
    "Describe your change (optional)",
    "Save draft",
    "Try",
    "Edit",
    "Publish…",
    "History",
    "Actions",
    "Publish this version…",
}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Service]:
    """A service as `make run` leaves it."""
    with running_service(tmp_path) as service:
        service.manage("demo")
        yield service


@pytest.fixture
def page(browser: Browser, demo: Service) -> Iterator[Page]:
    """The window of a person who signs in with the credentials that `make run` prints."""
    context = browser.new_context(base_url=f"{demo.url}/studio/")
    window = context.new_page()
    sign_in(window, "demo", "demo-password")
    yield window
    context.close()


def test_the_guide_names_the_buttons_to_press() -> None:
    assert set(re.findall(r"\*([^*]+)\*", STEPS)) == NAMED


def test_the_first_change_of_the_guide(page: Page) -> None:
    page.get_by_role("link", name="Agents", exact=True).click()
    page.get_by_role("link", name="Front desk", exact=True).click()
    editor(page).fill("Ask triage, then let a colleague answer.")
    page.get_by_label("Describe your change (optional)").fill("Shorter")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Version 2 is saved as a draft.")).to_be_visible()

    page.get_by_role("link", name="Try", exact=True).click()
    page.get_by_label("Message").fill("Where is my parcel?")
    page.get_by_role("button", name="Send").click()
    answers = page.get_by_role("log")
    expect(answers).to_have_count(2)
    expect(answers.filter(has_text="Ask triage, then let a colleague answer.")).to_have_count(1)
    expect(answers.filter(has_text="Ask triage what the message is about")).to_have_count(1)

    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator("ins").first).to_be_visible()
    page.get_by_role("button", name="Publish version 2").click()
    expect(page.get_by_text("Version 2 is live.")).to_be_visible()

    page.get_by_role("link", name="History", exact=True).click()
    page.get_by_label("Actions for Version 1").click()
    page.get_by_role("link", name="Publish this version…").click()
    page.get_by_role("button", name="Publish version 1").click()
    expect(page.get_by_text("Version 1 is live.")).to_be_visible()
