"""Keys: the table that "?" shows, and going through lists and reviews with j, k and Enter."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import serious_problems
from tests.browser.library import Library
from tests.browser.prompts import editor
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]


def table(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Keyboard shortcuts")


def test_the_keys_are_listed_by_a_key_and_from_the_menu(enter: Enter, library: Library) -> None:
    page = enter("vera", "versioning/agent/", width=NARROW)
    page.keyboard.press("?")
    expect(table(page)).to_be_visible()
    listed = table(page).locator("dd").all_inner_texts()
    assert len(listed) == len(set(listed)) > 10
    assert serious_problems(table(page)) == []
    page.keyboard.press("Escape")
    expect(table(page)).to_be_hidden()
    page.locator(".bar-user > summary").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(table(page)).to_be_visible()
    table(page).get_by_role("button", name="Close").click()
    expect(table(page)).to_be_hidden()


def test_keys_that_are_typed_into_a_text_stay_there(enter: Enter, library: Library) -> None:
    page = enter("edgar", f"versioning/agent/{library.agent}/change/")
    text = editor(page.locator(".block").first, "Text")
    text.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("jk?/")
    expect(text).to_contain_text("jk?/You answer")
    expect(table(page)).to_have_count(0)
    page.get_by_label("Describe your change (optional)").click()
    page.keyboard.type("jk?/")
    expect(page.get_by_label("Describe your change (optional)")).to_have_value("jk?/")
    expect(table(page)).to_have_count(0)


LISTS = ("", "waiting/", "search/?q=e", "versioning/agent/", "versioning/workspace/acme/reviews/")


def test_a_list_is_gone_through_with_keys(enter: Enter, api_of: ApiOf, library: Library) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        for name in ("every-first", "every-second"):
            resource_id = f"{name}-{kind.id_key.lower()}"
            api_of("edgar").post(
                kind.path, {"id": resource_id, "workspaceId": "acme", "name": name, kind.text: "E."}
            )
            version = api_of("edgar").get(kind.url(resource_id), status="draft").body["latestVersionId"]
            slug = "agent" if kind is AGENTS else "promptBlock"
            about = {"resource": {"kind": slug, "id": resource_id}, "versionId": version}
            api_of("edgar").post("/reviews", {**about, "reviewers": []})
    page = enter("edgar")
    for address in LISTS:
        page.goto(address)
        page.keyboard.press("j")
        first = page.evaluate("document.activeElement.href")
        assert first, address
        page.keyboard.press("j")
        second = page.evaluate("document.activeElement.href")
        assert second != first, address
        focused = page.locator(":focus-visible")
        expect(focused).to_be_in_viewport()
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.href") == first
        page.keyboard.press("j")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == second


def test_a_review_is_read_and_answered_with_keys(enter: Enter, api_of: ApiOf) -> None:
    AGENTS.make(api_of("paula"), "by-keys", "Be kind.", autoPublish=True)
    saved = AGENTS.save(api_of("edgar"), "by-keys", "Be brief.")
    about = {"resource": {"kind": "agent", "id": "by-keys"}, "versionId": saved["latestVersionId"]}
    review = api_of("edgar").post("/reviews", {**about, "reviewers": ["paula"]}).body["id"]
    said = {**about, "field": "instructions", "body": "How brief?"}
    assert api_of("edgar").post("/comments", said).status == 201
    page = enter("paula", f"versioning/agent/by-keys/reviews/{review}/")
    page.keyboard.press("j")
    expect(page.locator("#field-instructions")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#new-instructions")).to_be_focused()
    page.keyboard.type("j is a letter here")
    expect(page.locator("#new-instructions")).to_have_value("j is a letter here")
    page.locator("#new-instructions").fill("")
    page.locator("#field-instructions").focus()
    page.keyboard.press("j")
    expect(page.locator(".thread")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your reply")).to_be_focused()
    page.keyboard.type("Very.")
    page.keyboard.press("Tab")
    # That the form was unfolded, the page may be told as late as now.
    page.evaluate("document.activeElement.closest('details').dispatchEvent(new Event('toggle'))")
    page.keyboard.press("Enter")
    expect(page.locator(".thread")).to_contain_text("Very.")


KEYBOARDS = {"Latin": "sj", "Cyrillic": "ыо", "Greek": "σξ", "Hebrew": "דח", "Arabic": "ست"}


def press(page: Page, code: str, key: str, *, modifiers: int = 0) -> None:
    """Press a key of another keyboard, which Playwright cannot name."""
    keys = page.context.new_cdp_session(page)
    for kind in ("rawKeyDown", "keyUp"):
        event = {"type": kind, "modifiers": modifiers, "key": key, "code": code}
        keys.send("Input.dispatchKeyEvent", event)


def test_keys_are_those_of_the_same_place_on_keyboards_of_other_letters(
    enter: Enter, api_of: ApiOf, library: Library
) -> None:
    for number, (name, (save, following)) in enumerate(KEYBOARDS.items(), 1):
        page = enter("edgar", "versioning/agent/")
        press(page, "KeyJ", following)
        expect(page.locator(".rows-title > a").first).to_be_focused()
        page = enter("edgar", f"versioning/agent/{library.agent}/change/")
        page.get_by_label("Describe your change (optional)").fill(f"With {name}")
        editor(page.locator(".block").first, "Text").click()
        page.keyboard.insert_text(str(number))
        press(page, "KeyS", save, modifiers=2)
        expect(page.locator("[data-saved-state]")).to_have_text("Saved.")
    # Where letters are Latin ones, the letter decides: on Dvorak the key of O is at the place of S.
    page.keyboard.insert_text("x")
    press(page, "KeyS", "o", modifiers=2)
    expect(page.locator("[data-saved-state]")).to_have_text("Not saved yet.")
