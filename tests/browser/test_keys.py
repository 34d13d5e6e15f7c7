"""Publishing with the keyboard alone, and pages without keys that are a single letter."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import Enter
from tests.browser.prompts import editor
from tests.browser.test_editing import ECHO, edit, make
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]
PUBLISH = "Control+Enter"
TEXT = [{"type": "text", "content": "Answer."}]


def test_a_prompt_is_published_with_four_keys_from_the_editor(enter: Enter, api_of: ApiOf) -> None:
    make(
        AGENTS, api_of("paula"), "published-by-keys", name="Published by keys", instructions=TEXT, model=ECHO
    )
    page = edit(enter, "paula", "published-by-keys")
    text = editor(page, "Text")
    text.click()
    page.keyboard.type("Please. ")
    page.keyboard.press(PUBLISH)
    page.wait_for_url("**/publish/**")
    expect(page.get_by_role("button", name="Publish version 2")).to_be_enabled()
    page.keyboard.press(PUBLISH)
    expect(page.get_by_text("Version 2 is live.")).to_be_visible()
    [live] = api_of("paula").get(AGENTS.url("published-by-keys")).body["instructions"]
    assert live["content"] == "Answer.Please. "


def test_single_letter_keys_are_switched_off(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("paula"), "without-keys", name="Without keys", instructions="Answer.", model=ECHO)
    page = enter("vera", "preferences/")
    try:
        page.get_by_role("radio", name="Off", exact=True).check()
        page.get_by_role("button", name="Save preferences", exact=True).click()
        expect(page.locator("html[data-no-single-keys]")).to_have_count(1)
        page.goto(page.url.replace("preferences/", "versioning/agent/"))
        for key in ("?", "/", "j", "k"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement === document.body")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_count(0)
        page.locator(".bar-user > summary").click()
        page.get_by_role("button", name="Keyboard shortcuts").click()
        keys = page.get_by_role("dialog", name="Keyboard shortcuts")
        expect(keys.get_by_text("Save the draft")).to_be_visible()
        expect(keys.get_by_text("Search everything")).to_have_count(0)
    finally:
        page.goto(page.url.replace("versioning/agent/", "preferences/"))
        page.get_by_role("radio", name="On", exact=True).check()
        page.get_by_role("button", name="Save preferences", exact=True).click()
        expect(page.locator("html[data-no-single-keys]")).to_have_count(0)
