"""Looking back: an older version is found, compared, restored and published; a viewer sees none of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import MISPLACED, flaws
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]

TEXTS = ("Answer in a word.", "Answer in a sentence.", "Answer in a page.")


@pytest.fixture
def agent_with_versions(api_of: ApiOf, request: pytest.FixtureRequest) -> str:
    """The id of an agent with three versions; the second is live, the third a draft."""
    agent_id = str(request.node.name).replace("_", "-").removeprefix("test-")
    paula = api_of("paula")
    body = {"id": agent_id, "name": "Teller", "workspaceId": "acme", "autoPublish": True}
    assert paula.post(AGENTS.path, {**body, "instructions": TEXTS[0]}).status == 201
    for text, goes_live in zip(TEXTS[1:], (True, False), strict=True):
        answer = paula.patch(AGENTS.url(agent_id), {"instructions": text, "autoPublish": goes_live})
        assert answer.status == 200, answer.body
    return agent_id


def history(enter: Enter, name: str, agent_id: str, **options: Any) -> Page:
    return enter(name, f"versioning/agent/{agent_id}/history/", **options)


def version(page: Page, number: int) -> Locator:
    """Return the row of a version in the timeline."""
    link = page.get_by_role("link", name=f"Version {number}", exact=True)
    return page.get_by_role("table", name="Versions, newest first").locator("tr.version-row").filter(has=link)


def live_text(api_of: ApiOf, agent_id: str) -> str:
    return str(api_of("vera").get(AGENTS.url(agent_id)).body["instructions"])


def restore(page: Page, number: int) -> None:
    version(page, number).get_by_label(f"Actions for Version {number}").click()
    version(page, number).get_by_role("button", name="Restore as a draft").click()
    expect(page.get_by_text(f"is a copy of Version {number}, and a draft")).to_be_visible()


def test_an_older_version_is_restored_and_published(
    enter: Enter, api_of: ApiOf, agent_with_versions: str
) -> None:
    page = history(enter, "paula", agent_with_versions, width=NARROW)
    restore(page, 1)
    assert live_text(api_of, agent_with_versions) == TEXTS[1]
    page.get_by_role("link", name="Publish…").click()
    expect(page.locator("del", has_text="sentence")).to_be_visible()
    expect(page.locator("ins", has_text="word")).to_be_visible()
    page.get_by_role("button", name="Publish version 4").click()
    expect(page.get_by_text("Version 4 is live.")).to_be_visible()
    expect(version(page, 4)).to_contain_text("Published")
    assert live_text(api_of, agent_with_versions) == TEXTS[0]


def test_any_two_versions_are_compared_from_the_keyboard_also_side_by_side_which_is_remembered(
    enter: Enter, agent_with_versions: str
) -> None:
    page = history(enter, "edgar", agent_with_versions)
    page.get_by_label("Compare from Version 2").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Compare from Version 1")).to_be_checked()
    expect(page.get_by_label("Compare to Version 1")).not_to_be_visible()
    page.get_by_role("button", name="Compare the two chosen").focus()
    page.keyboard.press("Enter")
    expect(page.locator("del", has_text="word")).to_be_visible()
    expect(page.locator("ins", has_text="page")).to_be_visible()
    page.get_by_role("link", name="Swap").click()
    expect(page.locator("del", has_text="page")).to_be_visible()

    page.goto(f"versioning/agent/{agent_with_versions}/compare/")
    page.get_by_role("link", name="Side by side").focus()
    page.keyboard.press("Enter")
    cells = page.get_by_role("table", name="Instructions").get_by_role("cell")
    expect(cells.filter(has_text="sentence").locator("del")).to_be_visible()
    expect(cells.filter(has_text="page").locator("ins")).to_be_visible()
    left, right = (page.get_by_role("columnheader", name=f"Version {number}") for number in (2, 3))
    assert (left.bounding_box() or {})["x"] < (right.bounding_box() or {})["x"]
    assert flaws(page, page.get_by_role("table", name="Instructions")) == []
    page.goto(f"versioning/agent/{agent_with_versions}/compare/")
    expect(page.get_by_role("table", name="Instructions")).to_be_visible()
    page.set_viewport_size({"width": NARROW, "height": 900})
    expect(page.get_by_role("table", name="Instructions")).to_be_hidden()
    expect(page.get_by_role("group", name="Instructions").locator("del")).to_be_visible()
    assert page.evaluate(MISPLACED) == []


def test_last_weeks_version_is_live_again_with_three_clicks(
    enter: Enter, api_of: ApiOf, agent_with_versions: str
) -> None:
    paula = api_of("paula")
    newest = paula.get(AGENTS.url(agent_with_versions), status="draft").body["latestVersionId"]
    assert paula.post(AGENTS.url(agent_with_versions, "versions", newest, "activate")).status == 200
    page = enter("paula", f"versioning/agent/{agent_with_versions}/change/")
    person = Clicks(page)
    person.click(page.get_by_role("link", name="History", exact=True))
    expect(version(page, 2)).to_contain_text("live on")
    person.click(page.get_by_role("link", name="Publish version 2 again…"))
    person.click(page.get_by_role("button", name="Publish version 2"))
    expect(page.get_by_text("Version 2 is live.")).to_be_visible()
    assert live_text(api_of, agent_with_versions) == TEXTS[1]
    assert person.count <= 3
