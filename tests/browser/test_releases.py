"""Publishing several resources together, as a person with a mouse does, on a screen and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.library import Library
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

Apis = Callable[[str], RemoteApi]


def test_three_drafts_are_published_together_with_five_clicks_and_reverted_with_two(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    edgar, names = api_of("edgar"), [f"together-{number}" for number in range(3)]
    for name in names:
        PROMPT_BLOCKS.make(edgar, name, name=name, workspaceId="acme")

    def states() -> set[str]:
        return {edgar.get(PROMPT_BLOCKS.url(name), status="draft").body["status"] for name in names}

    person = Clicks(enter("paula", "waiting/", width=NARROW))
    for name in names:
        person.check(person.page.get_by_label(f"Choose {name}"))
    person.click(person.page.get_by_role("button", name="Publish as one release…"))
    expect(person.page.get_by_role("heading", name="Publish 3 drafts together?")).to_be_visible()
    assert states() == {"draft"}
    person.click(person.page.get_by_role("button", name="Publish together"))
    expect(person.page.get_by_text("3 versions went live together.")).to_be_visible()
    assert person.count == 5

    assert states() == {"published"}
    person.click(person.page.get_by_role("button", name="Revert…"))
    person.click(person.page.get_by_role("button", name="Revert now (unpublish 3)"))
    expect(person.page.get_by_text("Done: everything changed at the same moment.")).to_be_visible()
    assert states() == {"draft"} and person.count == 7


def test_an_agent_goes_live_with_its_block_from_the_page_for_publishing(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    edgar, block = api_of("edgar"), "greeting"
    PROMPT_BLOCKS.make(edgar, block, name="Greeting", workspaceId="acme")
    referring = [{"type": "prompt_block_ref", "id": block}]
    AGENTS.make(edgar, "greeted", referring, name="Greeter", workspaceId="acme")
    person = Clicks(enter("paula", "versioning/agent/greeted/publish/"))
    expect(person.page.get_by_text("This cannot be published yet.")).to_be_visible()
    person.click(person.page.get_by_role("button", name="Publish together"))
    expect(person.page.get_by_role("heading", name="Publish 2 drafts together?")).to_be_visible()
    person.click(person.page.get_by_role("button", name="Publish together"))
    expect(person.page.get_by_role("heading", name=re.compile("Greeter and 1 more"))).to_be_visible()
    assert person.count == 2
    served = edgar.get("/agents/greeted")
    assert served.status == 200, served.body


def test_a_version_is_added_to_an_open_release_from_the_menu(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    edgar = api_of("edgar")
    AGENTS.make(edgar, "prepared", name="Prepared", workspaceId="acme")
    assert edgar.post("/releases", {"workspaceId": "acme", "title": "Winter"}).status == 201
    person = Clicks(enter("edgar", "versioning/agent/prepared/change/"))
    person.click(person.page.locator(".head-actions summary"))
    person.click(person.page.get_by_role("link", name="Add to release…"))
    person.page.get_by_label("Release", exact=True).select_option("Winter")
    person.click(person.page.get_by_role("button", name="Add to release", exact=True))
    expect(person.page.get_by_role("heading", name="Winter")).to_be_visible()
    expect(person.page.get_by_role("heading", name="Prepared")).to_be_visible()
    assert person.count == 3
