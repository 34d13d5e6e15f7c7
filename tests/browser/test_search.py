"""Searching as people do it: with few clicks, by keyboard, and the hit in view at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi

LINES = "\n".join(f"Line {number} of many that say nothing." for number in range(300))
TEXT = f"{LINES}\nNever promise a day-voucher to a Zeppelin pilot.\n{LINES}"
IN_VIEW = """() => {
  const highlight = CSS.highlights?.get("find");
  const selection = getSelection();
  const range = highlight ? [...highlight][0] : selection.rangeCount ? selection.getRangeAt(0) : null;
  if (!range) return "";
  const {top, bottom, height} = range.getBoundingClientRect();
  return height && top >= 0 && bottom <= innerHeight ? range.toString() : "";
}"""


@pytest.fixture(scope="module")
def once_created() -> set[str]:
    """The resources that were created already, for all tests of this module."""
    return set()


@pytest.fixture
def pilots(api_of: Callable[[str], RemoteApi], once_created: set[str]) -> None:
    """An agent and a prompt block with a sentence far down."""
    if once_created:
        return
    once_created.add("pilots")
    for kind, resource_id in ((AGENTS, "pilots-agent"), (PROMPT_BLOCKS, "pilots-block")):
        make(kind, api_of("paula"), resource_id)


def make(kind: Kind, api: RemoteApi, resource_id: str) -> None:
    fields: dict[str, Any] = {"name": f"Pilots {resource_id}", kind.text: TEXT, "autoPublish": True}
    made = api.post(kind.path, {"id": resource_id, "workspaceId": "acme", **fields})
    assert made.status == 201, made.body


def sees(page: Page, text: str) -> None:
    page.wait_for_function(f"text => ({IN_VIEW})() === text", arg=text)


def test_a_phrase_is_found_and_shown_in_its_text_with_two_clicks(enter: Enter, pilots: None) -> None:
    page = enter("vera")  # who has no editor of prompts, as edgar has in the next test
    person = Clicks(page)
    person.click(page.get_by_role("combobox", name="Search everything"))
    page.keyboard.type('"day-voucher to a zeppelin"')
    page.keyboard.press("Enter")
    excerpt = page.get_by_role("listitem").filter(has_text="Pilots pilots-block").locator("mark")
    expect(excerpt.last).to_have_text("day-voucher to a Zeppelin")
    person.click(page.get_by_role("link", name="Pilots pilots-block"))
    sees(page, "day-voucher to a Zeppelin")
    assert person.count <= 2


def test_suggestions_are_chosen_by_keyboard(enter: Enter, pilots: None) -> None:
    page = enter("edgar", "activity/", width=NARROW)
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search everything")
    expect(field).to_be_focused()
    page.keyboard.type("zeppelin pil")
    listbox = page.get_by_role("listbox", name="Suggestions")
    options = listbox.get_by_role("option")
    expect(options).to_have_count(2)
    expect(field).to_have_attribute("aria-expanded", "true")
    box = listbox.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= NARROW
    page.keyboard.press("Escape")
    expect(listbox).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(options).to_have_count(2)
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    chosen = options.first.get_attribute("id")
    expect(field).to_have_attribute("aria-activedescendant", chosen or "")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[aria-selected=true]")).to_have_count(0)
    page.keyboard.press("ArrowUp")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    sees(page, "Zeppelin pil")


def test_without_scripts_the_field_is_a_form(enter: Enter, pilots: None) -> None:
    page = enter("edgar", has_scripts=False)
    page.get_by_label("Search everything").fill("zeppelin")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Pilots pilots-block")).to_be_visible()
