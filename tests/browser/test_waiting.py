"""Waiting drafts, a copy, a star and the bell, as a person with a mouse uses them."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.library import Library
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

Apis = Callable[[str], RemoteApi]


def test_a_copy_is_two_clicks_away(enter: Enter, library: Library) -> None:
    person = Clicks(enter("edgar", "versioning/promptblock/tone/change/", width=NARROW))
    person.click(person.page.locator(".head-actions summary"))
    expect(person.page.get_by_label("Duplicate as")).to_have_value("tone-copy")
    person.click(person.page.get_by_role("button", name="Duplicate"))
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Tone of voice (copy)")
    assert person.count == 2


def test_selected_drafts_are_published_except_one_that_changed_meanwhile(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    edgar = api_of("edgar")
    for kind in (AGENTS, PROMPT_BLOCKS):
        kind.make(edgar, "chosen", name="Chosen", workspaceId="acme")
        kind.make(edgar, "changing", name="Changing", workspaceId="acme")
    page = enter("paula", "waiting/")
    for name in ("Choose Chosen", "Choose Changing"):
        for box in page.get_by_label(name).all():
            box.check()
    expect(page.get_by_text("4 chosen")).to_be_visible()
    AGENTS.save(edgar, "changing", "newer")
    # The list updates itself; checkboxes stay ticked, except those of a newer version.
    expect(page.get_by_text("3 chosen")).to_be_visible()
    page.get_by_role("button", name="Publish chosen").click()
    expect(page.get_by_role("heading", name="Publish 3 drafts?")).to_be_visible()
    PROMPT_BLOCKS.save(edgar, "changing", "newer")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("heading", name="2 published, 1 not")).to_be_visible()
    for kind in (AGENTS, PROMPT_BLOCKS):
        assert edgar.get(kind.url("chosen"), status="draft").body["status"] == "published"
        assert edgar.get(kind.url("changing"), status="draft").body["status"] == "draft"


# Other tests may have left drafts in the other workspace.
FURTHER = re.compile(r"Continue with \d+ from the other workspaces")
ASKING = re.compile(r"Ask for \d+ reviews?")


def test_drafts_of_two_workspaces_are_chosen_apart_and_shown_again_when_they_change(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    for name, workspace_id in (("Apart here", "acme"), ("Apart there", "elsewhere")):
        api = api_of("alice" if workspace_id == "acme" else "charlie")
        slug = name.replace(" ", "-").lower()
        body = {"id": slug, "name": name, "content": "First.", "workspaceId": workspace_id}
        assert api.post(PROMPT_BLOCKS.path, {**body, "autoPublish": False}).status == 201
    page = enter("root", "waiting/")
    theirs = page.get_by_role("region", name="Elsewhere")
    theirs.get_by_label("Choose all of these").check()
    expect(theirs.get_by_label("Choose Apart there")).to_be_checked()
    expect(page.get_by_label("Choose Apart here")).not_to_be_checked()
    page.get_by_label("Choose Apart here").check()
    page.get_by_role("button", name="Ask for review…").click()
    expect(page.get_by_text("in which different people can be asked")).to_be_visible()
    ours = page.get_by_role("form", name="Acme")
    expect(ours.get_by_label("paula")).to_be_visible()
    assert flaws(page) == []
    ours.get_by_role("button", name="Ask for review").click()
    expect(page.get_by_role("heading", name="1 is now in review")).to_be_visible()
    page.get_by_role("button", name=FURTHER).click()
    expect(page.get_by_role("heading", name=ASKING)).to_be_visible()
    page.goto("waiting/")
    page.get_by_label("Choose Apart there").check()
    page.get_by_role("button", name="Publish chosen…").click()
    expect(page.locator("ins", has_text="First.")).to_be_visible()
    PROMPT_BLOCKS.save(api_of("charlie"), "apart-there", "Second.")
    page.get_by_role("button", name="Publish", exact=True).click()
    again = page.get_by_role("form", name="Changed since you looked: this is how it is now")
    expect(again.locator("ins", has_text="Second.")).to_be_visible()
    assert flaws(page) == []
    again.get_by_label("Choose Apart there").check()
    again.get_by_role("button", name="Publish chosen").click()
    expect(page.get_by_role("heading", name="1 is now live")).to_be_visible()


def test_a_star_needs_no_reload_and_the_bell_updates_on_an_open_page(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    AGENTS.make(api_of("alice"), "starred", name="Starred one", workspaceId="acme", autoPublish=True)
    page = enter("edgar", "versioning/agent/starred/usage/")
    star = page.get_by_role("button", name="Star Starred one")
    expect(star).to_have_attribute("aria-pressed", "false")
    page.evaluate("window.isTheSamePage = true")
    star.press("Enter")
    expect(star).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("window.isTheSamePage")
    page.goto("")
    expect(page.get_by_role("region", name="Starred").get_by_role("link", name="Starred one")).to_be_visible()
    page.goto("notifications/")
    expect(page.locator(".bell-number")).to_be_hidden()
    page.goto("activity/")
    AGENTS.save(api_of("alice"), "starred", "newer")
    expect(page.get_by_role("link", name="Notifications, 1 new")).to_be_visible()
