"""Going back to an earlier version: work goes on from what is live, and what was done can be undone."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.prompts import control, editor
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]
GOOD, BAD = "Be kind and breif.", "Be rude."


def make(api_of: ApiOf, kind: Kind, resource_id: str) -> None:
    """Publish two versions: a good one with a typo, and a bad one."""
    paula = api_of("paula")
    field = "content" if kind is PROMPT_BLOCKS else "instructions"
    body = {"id": resource_id, "name": "Manners", "workspaceId": "acme", "autoPublish": True}
    assert paula.post(kind.path, {**body, field: GOOD}).status == 201
    assert paula.patch(kind.url(resource_id), {field: BAD, "autoPublish": True}).status == 200


def page_of(kind: Kind, resource_id: str, page: str) -> str:
    return f"versioning/{'promptblock' if kind is PROMPT_BLOCKS else 'agent'}/{resource_id}/{page}/"


def live_text(api_of: ApiOf, kind: Kind, resource_id: str) -> str:
    body: dict[str, Any] = api_of("vera").get(kind.url(resource_id)).body
    return str(body["content" if kind is PROMPT_BLOCKS else "instructions"])


def go_back(page: Page) -> None:
    page.get_by_role("link", name="Publish version 1 again…").click()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Version 1 is live.")).to_be_visible()


@pytest.mark.parametrize("kind", [AGENTS, PROMPT_BLOCKS], ids=["agent", "block"])
def test_the_typo_in_the_good_text_is_fixed_and_the_bad_text_stays_away(
    enter: Enter, api_of: ApiOf, kind: Kind
) -> None:
    name = f"back-{kind.path.rpartition('/')[2]}"
    make(api_of, kind, name)
    page = enter("paula", page_of(kind, name, "history"))
    go_back(page)
    expect(page.locator("#pointers")).to_contain_text("Version 2 was taken back; nothing new has been saved.")
    row = page.locator("tr.version-row").filter(has_text="Version 2")
    expect(row.locator(".chip-unpublished")).to_have_text("Taken back")

    page.goto(page_of(kind, name, "change"))
    typed = "content" if kind is PROMPT_BLOCKS else "instructions.text"
    expect(control(page, typed)).to_have_value(GOOD)
    expect(page.locator("#state-chips")).to_contain_text("Published")
    strip = page.locator(".taken-back")
    expect(strip).to_contain_text("Version 2 was taken back by you, just now. Version 1 is live again.")
    expect(strip.get_by_role("link", name="Compare with live")).to_be_visible()
    for width in (NARROW, 768):
        page.set_viewport_size({"width": width, "height": 900})
        assert flaws(page, strip) == []
    page.set_viewport_size({"width": 1280, "height": 900})

    label = "Text" if kind is PROMPT_BLOCKS else "Instructions as one text"
    editor(page, label).fill("Be kind and brief.")
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator("ins", has_text="brief")).to_be_visible()
    expect(page.get_by_text("rude")).to_have_count(0)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Version 3 is live.")).to_be_visible()
    assert live_text(api_of, kind, name) == "Be kind and brief."


def test_lists_and_the_preview_show_what_is_live_and_the_taken_back_version_can_go_on(
    enter: Enter, api_of: ApiOf
) -> None:
    make(api_of, AGENTS, "back-and-on")
    page = enter("paula", page_of(AGENTS, "back-and-on", "history"))
    go_back(page)
    page.goto("versioning/agent/?q=back-and-on")
    expect(page.locator(".rows-excerpt")).to_have_text(GOOD)
    page.goto(page_of(AGENTS, "back-and-on", "preview"))
    expect(page.locator("#preview-result")).to_contain_text(GOOD)
    expect(page.get_by_role("radio", name="Draft")).to_have_count(0)
    page.get_by_role("button", name="Continue with version 2").click()
    expect(page.get_by_text("Version 3 is a copy of Version 2, and a draft")).to_be_visible()
    expect(control(page)).to_have_value(BAD)
    expect(page.locator("#state-chips")).to_contain_text("Unpublished changes")
    expect(page.locator(".taken-back")).to_have_count(0)
    assert live_text(api_of, AGENTS, "back-and-on") == GOOD


def test_an_override_that_was_unpublished_leaves_the_form_to_the_code(enter: Enter, api_of: ApiOf) -> None:
    root, path = api_of("root"), AGENTS.url("supervisor")
    root.delete(path)
    assert root.patch(path, {"instructions": BAD, "autoPublish": True}).status == 200
    assert root.post(AGENTS.url("supervisor", "unpublish")).status == 200
    page = enter("root", page_of(AGENTS, "supervisor", "change"))
    expect(page.locator("#state-chips")).to_contain_text("Published")
    expect(page.locator(".taken-back")).to_contain_text("The agent is live as its code defines it.")
    expect(page.get_by_role("radio", name="As in code")).to_be_checked()
    expect(page.get_by_text(BAD)).to_have_count(0)
    page.get_by_role("radio", name="One text").check()
    editor(page).fill("Be brief.")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Version 2 is saved as a draft.")).to_be_visible()
    expect(page.locator(".taken-back")).to_have_count(0)
    assert root.get(path, status="draft").body["instructions"] == "Be brief."
    root.delete(path)


def test_publishing_is_undone(enter: Enter, api_of: ApiOf) -> None:
    make(api_of, AGENTS, "back-undone")
    page = enter("paula", page_of(AGENTS, "back-undone", "history"))
    go_back(page)
    assert live_text(api_of, AGENTS, "back-undone") == GOOD
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Version 2 is live again.")).to_be_visible()
    assert live_text(api_of, AGENTS, "back-undone") == BAD


def test_a_cancelled_schedule_is_made_again(enter: Enter, api_of: ApiOf) -> None:
    make(api_of, AGENTS, "back-scheduled")
    versions = api_of("paula").get(AGENTS.url("back-scheduled", "versions")).body["versions"]
    year = datetime.datetime.now(tz=datetime.UTC).year + 1
    body = {
        "resource": {"kind": "agent", "id": "back-scheduled"},
        "versionId": versions[-1]["id"],
        "localTime": f"{year}-05-04T09:00",
        "timeZone": "Europe/Berlin",
        "until": f"{year}-05-05T09:00",
        "then": {"versionId": versions[0]["id"]},
    }
    made = api_of("paula").post("/schedules", body)
    assert made.status == 201, made.body
    page = enter("paula", page_of(AGENTS, "back-scheduled", "history"))
    strip = page.locator(".schedule-strip")
    said = strip.locator("strong").all_inner_texts()
    strip.get_by_role("button", name="Cancel").first.click()
    expect(page.get_by_text("Schedule cancelled. Nothing live has changed.")).to_be_visible()
    expect(strip).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Scheduled again for")).to_be_visible()
    expect(strip.locator("strong")).to_have_text(said)


def test_a_closed_review_is_opened_again(enter: Enter, api_of: ApiOf) -> None:
    make(api_of, AGENTS, "back-reviewed")
    assert api_of("edgar").patch(AGENTS.url("back-reviewed"), {"instructions": "Be good."}).status == 200
    asked = api_of("edgar").post("/reviews", {"resource": {"kind": "agent", "id": "back-reviewed"}})
    assert asked.status == 201, asked.body
    review = asked.body["id"]
    page = enter("edgar", page_of(AGENTS, "back-reviewed", f"reviews/{review}"))
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text("Review closed.")).to_be_visible()
    assert api_of("edgar").get(f"/reviews/{review}").body["state"] == "closed"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Review reopened.")).to_be_visible()
    assert api_of("edgar").get(f"/reviews/{review}").body["state"] == "open"


def test_a_deleted_example_comes_back(enter: Enter, api_of: ApiOf) -> None:
    make(api_of, AGENTS, "back-example")
    page = enter("edgar", page_of(AGENTS, "back-example", "preview"))
    page.get_by_label("Context, as JSON").fill('{"tier": "gold"}')
    page.get_by_text("Save as example").click()
    page.get_by_label("Name of the example").fill("Gold")
    page.get_by_role("button", name="Save as a new example").click()
    expect(page.get_by_text("Saved as the example “Gold”.")).to_be_visible()
    page.get_by_text("Change this example").click()
    page.get_by_role("button", name="Delete “Gold”").click()
    expect(page.get_by_text("The example “Gold” is deleted.")).to_be_visible()
    page.get_by_label("Context, as JSON").fill('{"tier": "tin"}')
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The example “Gold” is back.")).to_be_visible()
    page.reload()
    page.get_by_label("Example", exact=True).select_option(label="Gold")
    expect(page.get_by_label("Context, as JSON")).to_have_value('{\n  "tier": "gold"\n}')
