"""An admin at work: a person is invited, limited and removed again, and so is a key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.flaws import flaws
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service

ApiOf = Callable[[str], RemoteApi]

MEMBERS = "versioning/workspace/acme/members/"
KEYS = "versioning/workspace/acme/keys/"


def newcomer(browser: Browser, service: Service, link: str, password: str) -> Page:
    """Follow a link as an invited person, and choose a password."""
    page = browser.new_context(base_url=f"{service.url}/studio/", reduced_motion="reduce").new_page()
    page.goto(link)
    assert flaws(page) == []
    page.get_by_label("New password", exact=True).fill(password)
    page.get_by_label("New password confirmation").fill(password)
    page.get_by_role("button", name="Save and sign in").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    return page


def test_an_admin_invites_limits_and_removes_a_member(
    enter: Enter, browser: Browser, studio_service: Service
) -> None:
    name = "lena"
    alice = enter("alice", MEMBERS)
    alice.get_by_label("User name").fill(name)
    alice.get_by_label("Role", exact=True).select_option("editor")
    alice.get_by_role("button", name="Invite").click()
    link = alice.get_by_label(f"The link for {name}").input_value()
    assert flaws(alice) == []

    lena = newcomer(browser, studio_service, link, "a fine long one")
    lena.goto("versioning/agent/add/")
    expect(lena.get_by_role("button", name="Create agent", exact=True)).to_be_visible()
    lena.goto(MEMBERS)
    expect(lena.get_by_text("You may not administer the workspace")).to_be_visible()

    alice.goto(MEMBERS)
    alice.get_by_label(f"Role of {name}", exact=True).select_option("viewer")
    alice.get_by_role("button", name=f"Change role: {name}").click()
    expect(alice.get_by_text(f"{name} now has the role viewer.")).to_be_visible()
    lena.goto("versioning/agent/add/")
    expect(lena.get_by_role("button", name="Create agent", exact=True)).to_have_count(0)

    alice.get_by_role("link", name=f"Remove {name}").click()
    alice.get_by_role("button", name=f"Remove {name}").click()
    expect(alice.get_by_text(f"{name} is no longer a member of this workspace.")).to_be_visible()
    lena.goto("versioning/agent/")
    expect(lena.get_by_role("navigation", name="Main")).to_have_count(0)
    lena.context.close()


def test_a_key_is_created_limited_and_revoked(enter: Enter, studio_service: Service, api_of: ApiOf) -> None:
    name = "Website"
    page = enter("alice", KEYS, width=NARROW)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Role", exact=True).select_option("publisher")
    only_for = page.get_by_role("group", name="Only for")
    assert only_for.get_by_role("checkbox", checked=True).count() == 0
    for action in ("reading", "running agents"):
        only_for.get_by_label(action).check()
    page.get_by_role("button", name="Create API key", exact=True).click()
    text = page.get_by_label(f"The key {name}").input_value()
    assert flaws(page) == []
    with connected(studio_service, text) as program:
        assert program.get(AGENTS.path).status == 200
        assert program.post(AGENTS.path, AGENTS.body(id="by-a-key")).status == 403
        page.goto(KEYS)
        expect(page.locator("#content")).not_to_contain_text(text)
        expect(page.locator("#content")).to_contain_text(text[:11])
        page.get_by_role("link", name=f"Revoke {name}").click()
        page.get_by_role("button", name="Revoke it").click()
        expect(page.get_by_text("is revoked.")).to_be_visible()
        assert program.get(AGENTS.path).status == 401


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_long_name_of_a_key_leaves_the_rest_of_its_row_in_sight(enter: Enter, width: int) -> None:
    name = f"{width}{'k' * 96}"
    page = enter("alice", KEYS, width=width)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create API key", exact=True).click()
    expect(page.get_by_label(f"The key {name}")).to_be_visible()
    page.goto(KEYS)
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("You")
    for part in (
        row.get_by_text("Viewer"),
        row.get_by_text("You", exact=True),
        row.get_by_role("link", name="Revoke"),
    ):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    assert flaws(page) == []


def test_the_members_are_two_clicks_from_the_home_page(enter: Enter) -> None:
    page = enter("alice", width=NARROW)
    person = Clicks(page)
    person.click(page.locator(".bar-user > summary"))
    person.click(page.get_by_role("link", name="Members and access"))
    expect(page.get_by_role("link", name="edgar", exact=True)).to_be_visible()
    assert person.count == 2
    assert flaws(page) == []
