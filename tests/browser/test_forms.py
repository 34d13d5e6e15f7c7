"""Forms besides the prompts': what is typed is kept, and the first error is in sight and in focus."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]
DATASET = "versioning/workspace/acme/datasets/{}/"


def asked_on_leaving(page: Page) -> list[str]:
    """Reload the page, and return the questions that the browser asks."""
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.once("dialog", answer)
    page.reload()
    page.remove_listener("dialog", answer) if not asked else None
    return asked


def test_rows_typed_into_a_dataset_survive_leaving_the_page(enter: Enter, api_of: ApiOf) -> None:
    made = api_of("edgar").post("/datasets", {"name": "Typed rows", "workspaceId": "acme"})
    assert made.status == 201, made.body
    path = DATASET.format(made.body["id"])
    page = enter("edgar", path, width=NARROW)
    assert asked_on_leaving(page) == []
    page.get_by_label("Input", exact=True).first.fill("Where is my parcel?")
    page.get_by_label("A good answer", exact=True).first.fill("On its way.")
    page.get_by_label("Tags", exact=True).nth(1).fill("delivery")
    assert asked_on_leaving(page) == ["beforeunload"]
    notice = page.locator(".unsaved")
    expect(notice).to_contain_text("Unsaved text from")
    assert flaws(page, notice) == []
    notice.get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Input", exact=True).first).to_have_value("Where is my parcel?")
    expect(page.get_by_label("Tags", exact=True).nth(1)).to_have_value("delivery")
    page.get_by_label("Tags", exact=True).nth(1).fill("")
    page.get_by_role("button", name="Save items").click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    assert asked_on_leaving(page) == []
    expect(page.get_by_label("A good answer", exact=True).first).to_have_value("On its way.")
    page.wait_for_timeout(400)  # copies of other tabs are offered after a while
    expect(notice).to_have_count(0)


def test_text_that_a_page_shows_again_is_not_offered_as_unsaved(enter: Enter, api_of: ApiOf) -> None:
    made = api_of("edgar").post("/datasets", {"name": "Imported rows", "workspaceId": "acme"})
    path = DATASET.format(made.body["id"]) + "import/"
    page = enter("edgar", path)
    page.locator("#content textarea").first.fill("input,groundTruth\nWhere is my parcel?,On its way.")
    page.get_by_role("button", name="Preview import").click()
    expect(page.get_by_role("heading", name="Import preview")).to_be_visible()
    page.wait_for_timeout(400)  # copies of other tabs are offered after a while
    expect(page.locator(".unsaved")).to_have_count(0)
    page.get_by_role("button", name="Import items", exact=True).click()
    page.wait_for_url(lambda address: not address.endswith("import/"))
    page.goto(path)
    page.wait_for_timeout(400)
    expect(page.locator(".unsaved")).to_have_count(0)


def test_an_error_goes_once_its_field_is_corrected_and_ctrl_s_sends_the_form(enter: Enter) -> None:
    page = enter("edgar", "versioning/agent/add/")
    page.get_by_label("Name", exact=True).fill("Corrected")
    page.keyboard.press("Control+s")
    summary = page.locator("form > .notice-error")
    expect(summary).to_have_count(1)
    expect(page.locator("#text-note")).to_have_class("error")
    page.locator("#content .cm-content").fill("Be kind.")
    expect(summary).to_have_count(0)
    expect(page.locator("#content .error")).to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("“Corrected” is saved as a draft.")).to_be_visible()


def test_the_text_of_a_release_survives_leaving_the_page(enter: Enter) -> None:
    page = enter("edgar", "versioning/workspace/acme/releases/add/")
    page.get_by_label("Title").fill("Spring")
    assert asked_on_leaving(page) == ["beforeunload"]
    page.locator(".unsaved").get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Title")).to_have_value("Spring")
    page.get_by_label("Title").fill("")
    assert asked_on_leaving(page) == []


def test_after_a_refused_form_the_first_error_is_in_sight_and_in_focus(enter: Enter) -> None:
    page = enter("alice", "versioning/workspace/acme/webhooks/add/", width=NARROW)
    page.get_by_label("URL").fill("not an address")
    page.locator("#content form[method=post] button[type=submit]").last.click()
    wrong = page.locator("#content [aria-invalid=true]").first
    expect(wrong).to_be_focused()
    expect(wrong).to_be_in_viewport()
    described = wrong.get_attribute("aria-describedby")
    assert (
        described and page.locator(f"#{described.split()[0]} .error, #{described.split()[0]}.error").count()
    )
    summary = page.locator("form > .notice-error")
    expect(summary).to_contain_text("Not saved. Correct these fields:")
    summary.get_by_role("link").first.click()
    expect(wrong).to_be_focused()
    assert flaws(page, page.locator("#content")) == []


def test_requesting_changes_leads_to_the_comment_which_is_required(enter: Enter, api_of: ApiOf) -> None:
    edgar = api_of("edgar")
    body = {"id": "to-review", "name": "To review", "workspaceId": "acme", "instructions": "Be good."}
    assert edgar.post("/stored/agents", body).status == 201
    asked = edgar.post("/reviews", {"resource": {"kind": "agent", "id": "to-review"}})
    assert asked.status == 201, asked.body
    page = enter("paula", f"versioning/agent/to-review/reviews/{asked.body['id']}/", width=NARROW)
    page.get_by_role("link", name="Request changes…").click()
    comment = page.get_by_label("Comment", exact=True).first
    expect(comment).to_be_focused()
    expect(page.get_by_text("Required if you request changes.")).to_be_in_viewport()
    page.get_by_role("button", name="Request changes", exact=True).click()
    expect(comment).to_be_focused()
    expect(comment).to_be_in_viewport()
    expect(page.locator("#verdict")).to_contain_text("Describe the changes you want.")
    comment.fill("Be kinder.")
    page.get_by_role("button", name="Request changes", exact=True).click()
    expect(page.get_by_text("Changes requested.").first).to_be_visible()
