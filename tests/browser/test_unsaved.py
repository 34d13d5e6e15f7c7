"""No typed text is lost: copies that the browser stores, and rows that can be restored."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.conftest import NARROW, Enter, sign_in, sign_out
from tests.browser.flaws import flaws
from tests.browser.prompts import block_control, control, editor
from tests.browser.test_editing import ApiOf, draft, edit, made, make, save, text_of
from tests.support.api import AGENTS
from tests.support.remote import connected
from tests.support.service import running_service
from tests.support.studio_cast import PASSWORD, make_cast

__all__ = ["made"]

COPIES = "() => Object.keys(localStorage).filter((key) => key.startsWith('unsaved/')).length"


AGED = """() => {
  for (const key of Object.keys(localStorage).filter((key) => key.startsWith("unsaved/"))) {
    const copy = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({...copy, at: copy.at - 15 * 24 * 60 * 60 * 1000}));
  }
}"""


def copies(page: Page, number: int) -> None:
    """Wait until the browser stores this many copies."""
    for _ in range(50):
        if page.evaluate(COPIES) == number:
            return
        page.wait_for_timeout(100)
    assert page.evaluate(COPIES) == number


def leave(page: Page, path: str = "") -> None:
    """Leave the page in spite of unsaved changes."""
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto(path)


def offer(page: Page) -> Any:
    return page.locator("#unsaved .notice")


def test_text_survives_the_end_of_the_session_during_typing(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made, width=NARROW)
    page.get_by_role("radio", name="Blocks").check()
    page.get_by_role("button", name="Add text").click()
    block = page.locator(".block").nth(1)
    editor(block, "Text").fill("Be generous.")
    block.get_by_role("button", name="Add condition").click()
    block.get_by_label("Name in the context").fill("tier")
    block.get_by_label("Value", exact=True).fill("gold")
    page.context.clear_cookies()
    leave(page, f"versioning/agent/{made}/change/")
    expect(page.get_by_text("This browser keeps text that was typed and not saved.")).to_be_visible()
    page.get_by_label("Username").fill("edgar")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(offer(page)).to_contain_text(re.compile(r"Unsaved text from \d\d:\d\d UTC\."))
    assert flaws(page, offer(page)) == []
    page.get_by_role("button", name="Restore the text of").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your text is back in the form.")).to_be_visible()
    expect(page.locator(".block").nth(1).get_by_label("Value", exact=True)).to_have_value("gold")
    copies(page, 1)
    save(page)
    copies(page, 0)
    assert draft(api_of, made)["instructions"][1]["content"] == "Be generous."
    expect(offer(page)).to_have_count(0)


def test_back_and_forward_after_a_refused_save_show_the_page_and_offer_the_text(
    enter: Enter, made: str
) -> None:
    page = edit(enter, "edgar", made)
    typing(page)
    page.get_by_text("Name and description").click()
    page.locator("#in-name").fill(" ")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#error-name")).to_be_visible()
    leave(page)
    page.go_back()
    restore(page)
    leave(page)
    page.go_back()
    restore(page)


def typing(page: Page) -> None:
    """Type into the prompt with the keyboard, and wait only until the copy is stored."""
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Typed, and {{ not }} saved.")
    copies(page, 1)


TYPED = "Write well. Typed, and {{ not }} saved."


def restore(page: Page) -> None:
    page.get_by_role("button", name="Restore the text of").click()
    expect(page.get_by_text("Your text is back in the form.")).to_be_visible()
    expect(control(page)).to_have_value(TYPED)
    expect(editor(page)).to_have_text(TYPED)


def test_text_survives_the_end_of_its_tab_and_a_double_click_saves_it_once(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made, is_kept=False)
    typing(page)
    with page.expect_event("crash"), suppress(Error):  # it is gone before it answers
        page.goto("chrome://crash")
    again = page.context.new_page()
    again.goto(f"versioning/agent/{made}/change/")
    restore(again)
    again.get_by_role("button", name="Save draft").dblclick()
    expect(again.get_by_text("is saved as a draft.")).to_be_visible()
    assert draft(api_of, made)["instructions"] == TYPED
    versions = api_of("edgar").get(AGENTS.url(made, "versions")).body["versions"]
    assert [version["versionNumber"] for version in versions] == [2, 1]


def test_text_survives_a_server_that_is_killed(browser: Browser, tmp_path: Path) -> None:
    """Its processes get SIGKILL while a person types, and the save reaches no server."""
    with running_service(tmp_path) as service:
        keys = make_cast(service)
        with connected(service, keys["paula"]) as paula:
            make(AGENTS, paula, "writer", name="Writer", instructions="Write well.")
        context = browser.new_context(base_url=f"{service.url}/studio/")
        page = context.new_page()
        sign_in(page, "edgar")
        page.goto("versioning/agent/writer/change/")
        typing(page)
        service.kill()
        page.get_by_role("button", name="Save draft").click()
        expect(page.get_by_text("The service cannot be reached, so nothing was saved")).to_be_visible()
        page.once("dialog", lambda dialog: dialog.accept())
        with suppress(Error):  # the browser shows its own error page
            page.reload()
        service.start()
        page.goto("versioning/agent/writer/change/")
        restore(page)
        service.kill()
        page.get_by_role("button", name="Save draft").click()
        expect(page.get_by_text("The service cannot be reached, so nothing was saved")).to_be_visible()
        banner = page.locator("[data-connection]")
        expect(banner).to_contain_text("The service does not answer.")
        service.start()
        expect(banner).to_have_count(0)
        page.get_by_role("button", name="Save again").click()
        expect(page.get_by_text("Version 2 is saved as a draft.")).to_be_visible()
        expect(page.get_by_text("The service cannot be reached")).to_have_count(0)
        copies(page, 0)
        with connected(service, keys["paula"]) as paula:
            assert paula.get(AGENTS.url("writer"), status="draft").body["instructions"] == TYPED
        context.close()


def test_a_copy_is_offered_over_later_saves_and_can_be_discarded(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made)
    text_of(page).fill("Typed by Edgar.")
    copies(page, 1)
    leave(page)
    api_of("paula").patch(AGENTS.url(made), {"description": "Paula's"})
    page.goto(f"versioning/agent/{made}/change/")
    expect(offer(page)).to_contain_text("Version 2 was saved since you began")
    page.get_by_role("button", name="Restore the text of").click()
    expect(page.get_by_role("alert")).to_contain_text("paula saved version 2")
    expect(control(page)).to_have_value("Typed by Edgar.")
    expect(page.locator("#in-description")).to_have_value("Paula's")
    copies(page, 1)
    leave(page, f"versioning/agent/{made}/change/")
    page.get_by_role("button", name="Discard the text of").click()
    expect(offer(page)).to_have_count(0)
    copies(page, 0)


def test_two_tabs_store_separate_copies_and_do_not_offer_those_of_open_tabs(enter: Enter, made: str) -> None:
    first = edit(enter, "edgar", made, is_kept=False)
    text_of(first).fill("In the first tab.")
    copies(first, 1)
    second = first.context.new_page()
    second.goto(f"versioning/agent/{made}/change/")
    text_of(second).fill("In the second tab.")
    copies(second, 2)
    expect(offer(second)).to_have_count(0)
    first.close()
    leave(second, f"versioning/agent/{made}/change/")
    expect(offer(second)).to_have_count(2)
    second.evaluate(AGED)
    second.reload()
    copies(second, 0)


def test_an_error_of_a_new_resource_is_attached_to_its_editor_and_its_text_is_stored_until_saved(
    enter: Enter,
) -> None:
    page = enter("edgar", "versioning/agent/add/")
    page.get_by_role("button", name="Create agent", exact=True).click()
    text = editor(page, "Instructions")
    expect(text).to_have_attribute("aria-invalid", "true")
    assert "text-note" in str(text.get_attribute("aria-describedby")).split()
    assert flaws(page) == []
    page.locator("label", has_text="Instructions").click()
    expect(text).to_be_focused()
    page.keyboard.type("Typed words.")
    page.get_by_label("Name", exact=True).fill("Kept agent")
    expect(control(page, "text")).to_have_value("Typed words.")
    copies(page, 1)
    leave(page, "versioning/agent/add/")
    page.get_by_role("button", name="Restore the text of").click()
    expect(control(page, "text")).to_have_value("Typed words.")
    page.get_by_role("button", name="Create agent", exact=True).click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    copies(page, 0)


def test_a_copy_is_visible_to_its_author_only_and_removed_by_signing_out(enter: Enter, made: str) -> None:
    page = edit(enter, "edgar", made)
    text_of(page).fill("Edgar's own.")
    copies(page, 1)
    page.context.clear_cookies()
    leave(page, "login/")
    sign_in(page, "paula")
    page.goto(f"versioning/agent/{made}/change/")
    expect(control(page)).to_have_value("Write well.")
    page.wait_for_timeout(400)
    expect(offer(page)).to_have_count(0)
    page.context.clear_cookies()
    sign_in(page, "edgar")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    sign_out(page)
    page.goto("login/")
    assert "text that you typed and did not save" in asked[0]
    copies(page, 0)


@pytest.mark.parametrize("problem", ["full", "off"])
def test_without_storage_for_copies_everything_else_works(enter: Enter, made: str, problem: str) -> None:
    page = enter("edgar", is_kept=False)
    page.add_init_script(
        """Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };"""
        if problem == "full"
        else """for (const name of ["localStorage", "sessionStorage"]) {
          Object.defineProperty(window, name, {get() { throw new DOMException("off", "SecurityError"); }});
        }"""
    )
    page.goto(f"versioning/agent/{made}/change/")
    text_of(page).fill("Typed all the same.")
    page.wait_for_timeout(400)
    save(page)


def test_blocks_are_converted_to_one_text_restored_and_saved_meanwhile(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made)
    ways = {name: page.get_by_role("radio", name=name) for name in ("One text", "Blocks")}
    ways["Blocks"].check()
    page.get_by_role("button", name="Add text", exact=True).click()
    editor(page.locator(".block").nth(1), "Text").fill("Second block.")
    ways["One text"].check()
    expect(control(page)).to_have_value("Write well.\n\nSecond block.")
    ways["Blocks"].check()
    expect(page.locator(".block")).to_have_count(2)  # as they were
    ways["One text"].check()
    expect(control(page)).to_have_value("Write well.\n\nSecond block.")
    text_of(page).press("Control+a")
    page.keyboard.type("Write anew.")
    expect(control(page)).to_have_value("Write anew.")
    ways["Blocks"].check()
    page.keyboard.press("Control+s")  # before the field is converted, and after that it is saved
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    assert draft(api_of, made)["instructions"] == [{"type": "text", "content": "Write anew."}]
    expect(page.locator(".block")).to_have_count(1)
    expect(block_control(page.locator(".block"))).to_have_value("Write anew.")
    page.get_by_role("button", name="Add prompt block").click()
    page.locator(".block").nth(1).get_by_role("combobox", name="Prompt block").fill("some/block")
    ways["One text"].click()
    refused = page.get_by_role("alert")
    expect(refused).to_contain_text("cannot be converted to one text: block 2 refers to a prompt block")
    expect(ways["Blocks"]).to_be_checked()
    expect(page.locator(".block")).to_have_count(2)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)  # outdated content is dimmed
    assert flaws(page, refused) == []


def test_a_removed_block_is_restored_with_the_keyboard(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made, width=NARROW)
    page.get_by_role("radio", name="Blocks").check()
    page.get_by_role("button", name="Add text").click()
    block = page.locator(".block").nth(1)
    editor(block, "Text").fill("Be generous.")
    block.get_by_role("button", name="Add condition").click()
    block.get_by_label("Name in the context").fill("tier")
    block.get_by_label("Value", exact=True).fill("gold")
    page.get_by_role("button", name="Add tool").click()
    page.get_by_label("Tool", exact=True).fill("search")
    for what in ("condition", "block", "tool"):
        page.get_by_role("button", name=f"Remove this {what}").last.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#announced")).to_have_text(f"{what.capitalize()} removed.")
        undo = page.get_by_role("button", name=f"Undo: put the {what} back")
        expect(undo).to_be_focused()
        assert flaws(page, undo.locator("..")) == []
        page.keyboard.press("Enter")
        expect(page.locator("#announced")).to_have_text(f"The {what} is back.")
        expect(page.get_by_role("button", name=f"Remove this {what}").last).to_be_focused()
    save(page)
    saved = draft(api_of, made)
    condition = {"field": "tier", "operator": "equals", "value": "gold"}
    assert saved["instructions"][1]["rules"]["conditions"] == [condition]
    assert saved["tools"] == {"search": {}}
