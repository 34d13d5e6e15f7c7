"""The lesson about a first change in the studio is correct: its steps are taken on what `make run` loads."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.test_guide import demo, page  # noqa: F401  fixtures
from tests.support.service import ROOT

LESSON = (ROOT / "docs/tutorials/first-change.md").read_text()
NAMED = {
    *("Agents", "Answering customers", "Published", "Tone of voice", "Refund policy", "Save draft"),
    *("Describe your change (optional)", "Version 2 is saved as a draft.", "Unpublished changes"),
    *("Preview", "topic", "Try", "Message", "Send", "Edit", "Publish…", "Publish version 2"),
    *("Version 2 is live.", "History", "Actions", "Publish this version…", "Publish version 1"),
}
EXPLAINED = {"prompt blocks", "condition"}


def test_the_lesson_names_the_buttons_to_press() -> None:
    assert set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", LESSON)) == NAMED | EXPLAINED


def test_the_steps_of_the_lesson(page: Page) -> None:  # noqa: F811  the fixture
    page.get_by_role("link", name="Agents", exact=True).click()
    page.get_by_role("link", name="Answering customers", exact=True).click()
    expect(page.get_by_text("Shown when topic is billing.")).to_be_visible()
    text = page.locator(".cm-content").first
    expect(text).to_contain_text("You answer the customers")
    text.fill("You answer the customers of {{ shop.name || 'our shop' }}. You never promise a delivery date.")
    page.get_by_label("Describe your change (optional)").fill("No promises")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Version 2 is saved as a draft.")).to_be_visible()
    expect(page.get_by_text("Unpublished changes").first).to_be_visible()

    page.get_by_role("link", name="Preview", exact=True).click()
    page.get_by_label("topic", exact=True).fill("billing")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Refunds: within 30 days")).to_be_visible()
    page.get_by_role("link", name="Try", exact=True).click()
    page.get_by_label("Message", exact=True).fill("Where is my money?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log").filter(has_text="never promise a delivery date")).to_have_count(1)

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
