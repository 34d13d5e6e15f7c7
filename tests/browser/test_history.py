"""Looking back: an older version is found, compared, restored and published; a viewer sees none of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.library import Library
from tests.browser.prompts import control
from tests.browser.test_pages import MISPLACED, serious_problems
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


@pytest.mark.parametrize("width", [1280, NARROW])
def test_an_older_version_is_restored_and_published(
    enter: Enter, api_of: ApiOf, agent_with_versions: str, width: int
) -> None:
    page = history(enter, "paula", agent_with_versions, width=width)
    restore(page, 1)
    assert live_text(api_of, agent_with_versions) == TEXTS[1]
    page.get_by_role("link", name="Publish…").click()
    expect(page.locator("del", has_text="sentence")).to_be_visible()
    expect(page.locator("ins", has_text="word")).to_be_visible()
    assert page.evaluate(MISPLACED) + serious_problems(page) == []
    page.get_by_role("button", name="Publish Version 4").click()
    expect(page.get_by_text("Version 4 is live.")).to_be_visible()
    expect(version(page, 4)).to_contain_text("Published")
    assert live_text(api_of, agent_with_versions) == TEXTS[0]


def test_an_older_version_is_published_as_it_is(
    enter: Enter, api_of: ApiOf, agent_with_versions: str
) -> None:
    page = history(enter, "paula", agent_with_versions)
    version(page, 1).get_by_label("Actions for Version 1").click()
    version(page, 1).get_by_role("link", name="Publish this version…").click()
    expect(page.get_by_text("This is not the newest version: Version 3 was saved after it")).to_be_visible()
    page.get_by_role("button", name="Publish Version 1").click()
    expect(page.get_by_text("Version 1 is live.")).to_be_visible()
    assert live_text(api_of, agent_with_versions) == TEXTS[0]


def test_an_editor_restores_and_is_not_offered_to_publish(
    enter: Enter, api_of: ApiOf, agent_with_versions: str
) -> None:
    page = history(enter, "edgar", agent_with_versions)
    restore(page, 1)
    expect(page.get_by_role("link", name="Publish…")).to_have_count(0)
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(control(page)).to_have_value(TEXTS[0])
    assert live_text(api_of, agent_with_versions) == TEXTS[1]


def test_any_two_versions_are_chosen_from_the_keyboard(enter: Enter, agent_with_versions: str) -> None:
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


@pytest.mark.parametrize("way", ["what was live before", "the menu of its row"])
def test_last_weeks_version_is_live_again_with_three_clicks(
    enter: Enter, api_of: ApiOf, agent_with_versions: str, way: str
) -> None:
    paula = api_of("paula")
    newest = paula.get(AGENTS.url(agent_with_versions), status="draft").body["latestVersionId"]
    assert paula.post(AGENTS.url(agent_with_versions, "versions", newest, "activate")).status == 200
    if way == "what was live before":
        page = enter("paula", f"versioning/agent/{agent_with_versions}/change/")
        person = Clicks(page)
        person.click(page.get_by_role("link", name="History", exact=True))
        person.click(page.get_by_role("link", name="Publish Version 2 again…"))
    else:
        page = history(enter, "paula", agent_with_versions)
        person = Clicks(page)
        expect(version(page, 2)).to_contain_text("live on")
        person.click(version(page, 2).get_by_label("Actions for Version 2"))
        person.click(version(page, 2).get_by_role("link", name="Publish this version…"))
    person.click(page.get_by_role("button", name="Publish Version 2"))
    expect(page.get_by_text("Version 2 is live.")).to_be_visible()
    assert live_text(api_of, agent_with_versions) == TEXTS[1]
    assert person.count <= 3


def test_two_versions_are_compared_side_by_side_and_the_layout_is_remembered(
    enter: Enter, agent_with_versions: str
) -> None:
    page = enter("edgar", f"versioning/agent/{agent_with_versions}/compare/")
    page.get_by_role("link", name="Side by side").focus()
    page.keyboard.press("Enter")
    cells = page.get_by_role("table", name="Instructions").get_by_role("cell")
    expect(cells.filter(has_text="sentence").locator("del")).to_be_visible()
    expect(cells.filter(has_text="page").locator("ins")).to_be_visible()
    left, right = (page.get_by_role("columnheader", name=f"Version {number}") for number in (2, 3))
    assert (left.bounding_box() or {})["x"] < (right.bounding_box() or {})["x"]
    assert page.evaluate(MISPLACED) + serious_problems(page) == []
    page.goto(f"versioning/agent/{agent_with_versions}/compare/")
    expect(page.get_by_role("table", name="Instructions")).to_be_visible()
    page.set_viewport_size({"width": NARROW, "height": 900})
    expect(page.get_by_role("table", name="Instructions")).to_be_hidden()
    expect(page.get_by_role("group", name="Instructions").locator("del")).to_be_visible()
    assert page.evaluate(MISPLACED) + serious_problems(page) == []


def test_a_label_is_set_and_removed(enter: Enter, api_of: ApiOf, agent_with_versions: str) -> None:
    page = history(enter, "paula", agent_with_versions)
    version(page, 1).get_by_role("link", name="Version 1", exact=True).click()
    page.get_by_label("Set or move a label here").fill("Not A Label")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("Must be 1 to 64 characters of a-z")).to_be_visible()
    page.get_by_label("Set or move a label here").fill("canary")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The label canary is set.")).to_be_visible()
    assert (
        api_of("alice").get(AGENTS.url(agent_with_versions), label="canary").body["instructions"] == TEXTS[0]
    )
    page.get_by_role("button", name="Remove the label canary").click()
    expect(page.get_by_text("The label canary is removed.")).to_be_visible()


def test_the_live_version_and_the_pending_changes_are_easy_to_find(
    enter: Enter, agent_with_versions: str
) -> None:
    page = enter("edgar", f"search/?q={agent_with_versions}")
    page.get_by_role("link", name="Teller").first.click()
    page.get_by_role("link", name="History").click()
    pointers = page.get_by_role("region", name="What is live")
    expect(pointers).to_contain_text("Live now Version 2")
    expect(pointers).to_contain_text("Published by paula")
    pointers.get_by_role("link", name="See what would change").click()
    expect(page.locator("del", has_text="sentence")).to_be_visible()


DRAFT_WORDS = "words-of-a-draft-that-nobody-may-see"


def test_a_viewer_sees_no_draft_anywhere(enter: Enter, api_of: ApiOf, library: Library) -> None:
    edgar = api_of("edgar")
    for agent_id, published in (("only-a-draft", False), ("with-a-draft", True)):
        body = {
            "id": agent_id,
            "name": f"Agent {agent_id}",
            "workspaceId": "acme",
            "instructions": "Live words.",
        }
        api_of("paula").post(AGENTS.path, {**body, "autoPublish": published})
        assert edgar.patch(AGENTS.url(agent_id), {"instructions": DRAFT_WORDS}).status == 200
    draft_id = edgar.get(AGENTS.url("with-a-draft"), status="draft").body["latestVersionId"]
    page = enter("vera")
    agent = "versioning/agent/with-a-draft"
    guessed = [
        f"search/?q={DRAFT_WORDS[:-1]}",
        f"versioning/agent/?q={DRAFT_WORDS[:-1]}",
        "versioning/agent/?state=not_live",
        "versioning/agent/only-a-draft/change/",
        *(
            f"{agent}/{name}/"
            for name in ("change", "history", "compare", "publish", "preview", "try", "usage")
        ),
        f"{agent}/versions/{draft_id}/",
    ]
    for address in guessed:  # with the elements that scripts add
        page.goto(address)
        content = page.content()
        assert DRAFT_WORDS not in content and DRAFT_WORDS not in _values(page), address
        assert draft_id not in content or draft_id in address, address
        assert "only-a-draft" not in content or "only-a-draft" in address, address
    known = [*library.main_pages.values(), *guessed]
    pending, seen = (
        [urljoin(f"{page.url.partition('/studio/')[0]}/studio/", one) for one in known],
        set[str](),
    )
    while pending:
        address = pending.pop()
        if address in seen:
            continue
        seen.add(address)
        text = page.request.get(address).text()
        assert DRAFT_WORDS not in text, address
        assert draft_id not in text or draft_id in address, address
        assert "only-a-draft" not in text or "only-a-draft" in address, address
        pending.extend(_links_in(text, address))
    assert any(address.endswith("/with-a-draft/change/") for address in seen)


def _values(page: Page) -> str:
    """Return the values of the fields of a page."""
    values = page.locator("textarea, input").evaluate_all("fields => fields.map(field => field.value)")
    return "\n".join(values)


def _links_in(text: str, address: str) -> list[str]:
    """Return the links of a page within the studio, except those that only sort or filter."""
    links = [link for link in re.findall(r"<a\s[^>]*>", text) if " download" not in link]
    found = [urljoin(address, unescape(one)) for link in links for one in re.findall(r'href="([^"]*)"', link)]
    return [
        link
        for link in found
        if urlsplit(link).path.startswith("/studio/") and "?" not in link and "#" not in link
    ]
