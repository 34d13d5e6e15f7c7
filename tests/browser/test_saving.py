"""Saving without leaving the page: what it says, and what it keeps when it could not save."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws, serious_problems
from tests.browser.prompts import control, editor
from tests.browser.test_editing import ApiOf, draft, edit, made, save, text_of
from tests.browser.test_unsaved import copies
from tests.support.api import AGENTS
from tests.support.service import Service
from tests.support.studio_cast import PASSWORD

__all__ = ["made"]

MARK = "() => { window.isThisPage = true; }"
IS_THIS_PAGE = "() => window.isThisPage === true"


def versions(api_of: ApiOf, agent_id: str) -> list[int]:
    found = api_of("edgar").get(AGENTS.url(agent_id, "versions")).body["versions"]
    return [version["versionNumber"] for version in found]


def state(page: Page) -> str:
    return page.locator("[data-saved-state]").inner_text()


def test_a_save_leaves_the_page_where_it_is_and_the_next_one_goes_on_from_it(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made)
    page.evaluate(MARK)
    address = page.url
    text_of(page).fill("Write better.")
    page.get_by_label("Describe your change (optional)").fill("Better than well")
    save(page)
    expect(page.locator("#state-chips")).to_contain_text("Unpublished changes")
    expect(page.locator("#pointers")).to_contain_text("Version 2 · You · just now")
    expect(page.get_by_label("Describe your change (optional)")).to_have_value("")
    assert (state(page), page.url) == ("Saved.", address)
    copies(page, 0)
    assert flaws(page, page.locator(".messages")) == []
    # The words are still the editor's own: what was typed before the save can be undone.
    editor(page).press("Control+z")
    expect(control(page)).to_have_value("Write well.")
    expect(page.locator("[data-saved-state]")).to_have_text("Not saved yet.")
    copies(page, 1)
    editor(page).press("Control+s")
    expect(page.locator("#pointers")).to_contain_text("Version 3")
    copies(page, 0)
    assert page.evaluate(IS_THIS_PAGE)
    assert versions(api_of, made) == [3, 2, 1]
    page.get_by_role("link", name="Home").click()  # nothing asks: all of it is saved
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.go_back()
    expect(control(page)).to_have_value("Write well.")


def test_what_is_typed_during_a_save_is_not_saved_yet(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made)
    text_of(page).fill("Sent.")

    def answer_late(route: object) -> None:
        editor(page).press("End")
        page.keyboard.type(" Typed later.")
        route.continue_()  # type: ignore[attr-defined]

    page.route("**/change/", answer_late, times=1)
    save(page)
    expect(page.locator("[data-saved-state]")).to_have_text("Not saved yet.")
    assert draft(api_of, made)["instructions"] == "Sent."
    copies(page, 1)
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#pointers")).to_contain_text("Version 3")
    assert draft(api_of, made)["instructions"] == "Sent. Typed later."


def test_after_the_end_of_the_session_one_signs_in_over_the_page_or_nothing_is_saved(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made, width=NARROW)
    page.evaluate(MARK)
    text_of(page).fill("Typed by Edgar.")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save draft").click()
    dialog = page.get_by_role("dialog", name="You are signed out")
    # Whoever closes the dialog is asked again by the next save.
    for closing in (lambda: dialog.press("Escape"), dialog.get_by_role("button", name="Cancel").click):
        closing()
        expect(page.get_by_text("You are signed out, so nothing was saved")).to_be_visible()
        expect(control(page)).to_have_value("Typed by Edgar.")
        page.get_by_role("button", name="Save again").click()
    expect(dialog.get_by_label("Password")).to_be_focused()
    assert serious_problems(dialog) == []
    dialog.get_by_label("Password").fill("not the password")
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("The user name or the password is wrong.")
    dialog.get_by_label("Username").fill("paula")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("paula is now signed in, but this page is edgar")
    assert versions(api_of, made) == [1]
    dialog.get_by_label("Username").fill("edgar")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    expect(dialog).to_have_count(0)
    assert page.evaluate(IS_THIS_PAGE)
    latest = api_of("edgar").get(AGENTS.url(made, "versions")).body["versions"][0]
    assert (latest["authorId"], latest["instructions"]) == ("edgar", "Typed by Edgar.")


def test_one_saves_again_what_was_not_sent_or_not_answered(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made, is_watched=False)
    text_of(page).fill("Typed in a tunnel.")
    page.context.set_offline(True)
    banner = page.locator("[data-connection]")
    expect(banner).to_contain_text("You are offline.")
    page.get_by_role("button", name="Save draft").click()
    again = page.get_by_role("button", name="Save again")
    expect(again).to_be_visible()
    preview = page.locator("#preview-status")
    expect(preview).to_have_text("There is no preview: the service does not answer.")
    page.context.set_offline(False)
    expect(banner).to_have_count(0)
    expect(preview).to_have_text("The preview is up to date.")
    again.click()
    expect(page.get_by_text("Version 2 is saved as a draft.")).to_be_visible()
    assert draft(api_of, made)["instructions"] == "Typed in a tunnel."

    def lose_the_answer(route: object) -> None:
        route.fetch()  # type: ignore[attr-defined]
        route.abort()  # type: ignore[attr-defined]

    text_of(page).fill("Saved, but who knows.")
    page.route("**/change/", lose_the_answer, times=1)
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("There was no answer, so this may not have been saved.")).to_be_visible()
    again.click()
    expect(page.get_by_text("Version 3 is saved as a draft.")).to_be_visible()
    assert versions(api_of, made) == [3, 2, 1]  # and no fourth one


ROLE = """
from versioning.conf import get_editor
from versioning.domain.access import Role
get_editor().workspace.set_role("acme", "edgar", Role("{role}"))
"""


def test_who_may_no_longer_save_is_told_so_and_keeps_the_text(
    enter: Enter, studio_service: Service, made: str
) -> None:
    page = edit(enter, "edgar", made)
    text_of(page).fill("Typed as an editor.")
    studio_service.manage("shell", "--no-imports", "-c", ROLE.format(role="viewer"))
    try:
        page.get_by_role("button", name="Save draft").click()
        told = page.locator(".messages")
        expect(told).to_contain_text("You may not save drafts in the workspace “Acme”.")
        expect(told).to_contain_text("What you typed is still on this page")
        expect(page.get_by_role("button", name="Save again")).to_have_count(0)
        expect(control(page)).to_have_value("Typed as an editor.")
    finally:
        studio_service.manage("shell", "--no-imports", "-c", ROLE.format(role="editor"))


def test_a_refusal_is_shown_at_the_fields_of_the_open_page_and_of_added_rows(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made)
    page.evaluate(MARK)
    text_of(page).fill("Kept.")
    page.get_by_text("Name and description").click()
    name = page.get_by_label("Name", exact=True).first
    name.fill("")
    page.get_by_text("More settings").click()
    page.get_by_text("Memory", exact=True).click()
    page.get_by_label("Memory as JSON").fill("{")
    page.get_by_label("Memory as JSON").blur()
    expect(page.get_by_text("This is not JSON yet")).to_be_visible()
    page.get_by_text("More settings").click()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved yet. The problems are named beside the fields")).to_be_visible()
    expect(name).to_be_focused()
    expect(page.locator("#error-name")).to_have_text("Fill in this field.")
    expect(name).to_have_attribute("aria-describedby", "error-name")
    expect(page.locator("#error-memory")).to_contain_text("Is not valid JSON")
    assert flaws(page) == []
    name.fill("Better")
    page.get_by_label("Memory as JSON").fill("")
    save(page)
    expect(page.locator(".error:visible")).to_have_count(0)
    assert page.evaluate(IS_THIS_PAGE)
    assert (draft(api_of, made)["name"], draft(api_of, made)["instructions"]) == ("Better", "Kept.")

    page.get_by_role("radio", name="Blocks").check()
    page.get_by_role("button", name="Add prompt block").click()
    added = page.locator(".block").nth(1)
    picked = added.get_by_role("combobox", name="Prompt block")
    picked.fill("no such/")
    page.get_by_role("button", name="Save draft").click()
    expect(added.locator(".error:visible")).to_have_count(1)
    expect(picked).to_be_focused()
    expect(picked).to_have_attribute("aria-invalid", "true")
    assert flaws(page, added) == []
    page.get_by_role("button", name="Remove this block").nth(1).click()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Version 3 is saved as a draft.")).to_be_visible()
    assert draft(api_of, made)["instructions"] == [{"type": "text", "content": "Kept."}]


def test_two_people_take_both(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made, width=NARROW)
    text_of(page).fill("Be kind.\nBe brief.")
    save(page)
    other = edit(enter, "paula", made)
    text_of(other).fill("Be kind.\nBe brief.\nThank them.")
    save(other)
    text_of(page).fill("Be very kind.\nBe brief.")
    page.get_by_text("Name and description").click()
    page.get_by_label("Name", exact=True).first.fill("Renamed")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("alert")).to_contain_text("You both changed Instructions")
    assert flaws(page, page.get_by_role("alert")) == []
    page.get_by_role("button", name="Take both").click()
    expect(page.get_by_text("Both are in the form now.")).to_be_visible()
    expect(control(page)).to_have_value("Be very kind.\nBe brief.\nThank them.")
    assert flaws(page, page.get_by_text("Both are in the form now.")) == []
    copies(page, 1)
    assert versions(api_of, made) == [3, 2, 1]
    save(page)
    copies(page, 0)
    expect(page.get_by_text("Both are in the form now.")).to_have_count(0)
    expect(page.locator("#content")).not_to_contain_text("What saving both would change now")
    saved = draft(api_of, made)
    assert (saved["name"], saved["instructions"]) == ("Renamed", "Be very kind.\nBe brief.\nThank them.")
    editor(page).press("End")
    page.keyboard.type("!")
    save(page)
    assert versions(api_of, made) == [5, 4, 3, 2, 1]


def test_two_tabs_do_not_overwrite_each_other(enter: Enter, api_of: ApiOf, made: str) -> None:
    first = edit(enter, "edgar", made)
    second = first.context.new_page()
    second.goto(f"versioning/agent/{made}/change/")
    text_of(first).fill("From the first tab.")
    save(first)
    second.get_by_text("Name and description").click()
    second.get_by_role("textbox", name="Description", exact=True).fill("From the second tab.")
    second.get_by_role("button", name="Save draft").click()
    expect(second.get_by_role("alert")).to_contain_text("You saved version 2")
    second.get_by_role("button", name="Take both").click()
    expect(second.get_by_text("Version 3 is saved as a draft.")).to_be_visible()
    saved = draft(api_of, made)
    assert saved["instructions"] == "From the first tab."
    assert saved["description"] == "From the second tab."
    copies(first, 0)


def test_one_sees_who_else_has_the_page_open(enter: Enter, made: str) -> None:
    page = edit(enter, "edgar", made, width=NARROW, is_kept=False)
    page.clock.install()
    page.reload()
    expect(page.locator("#present")).to_be_empty()
    other = edit(enter, "paula", made)
    expect(other.locator("#present")).to_contain_text("edgar is editing this too.")
    with page.expect_response("**/present/"):
        page.clock.fast_forward(20_000)
    expect(page.locator("#present")).to_contain_text("paula is editing this too.")
    expect(page.locator("#announced")).to_contain_text("paula is editing this too.")
    assert flaws(page, page.locator("#present")) == []
    # In a hidden tab one is still editing while something is not saved.
    hide = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})"
    page.evaluate(hide)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/present/" in request.url else None)
    page.clock.fast_forward(60_000)
    page.wait_for_timeout(300)
    assert sent == []
    text_of(page).fill("Not saved.")
    with page.expect_request("**/present/"):
        page.clock.fast_forward(60_000)
