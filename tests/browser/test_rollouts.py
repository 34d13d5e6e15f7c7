"""Trying a version on a share of the people, as a person with a mouse does."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi
from tests.support.runs import ECHO, ran
from tests.support.served import served

Apis = Callable[[str], RemoteApi]


def arm_of(page: Page, title: str) -> str:
    """Return the text of one arm on the page of a rollout."""
    return page.get_by_role("article", name=title).inner_text()


def test_a_version_is_tried_on_five_percent_widened_evaluated_and_published(
    enter: Enter, api_of: Apis
) -> None:
    paula, agent_id = api_of("paula"), "tried"
    AGENTS.make(paula, agent_id, "one", name="Tried", workspaceId="acme", model=ECHO, autoPublish=True)
    AGENTS.save(paula, agent_id, "two")
    page = enter("paula", f"versioning/agent/{agent_id}/change/", width=NARROW)
    person = Clicks(page)
    person.click(page.get_by_role("button", name="Publish…"))
    person.click(page.get_by_role("link", name="Start a rollout…"))
    expect(page.get_by_label("Share of the requests, in percent").first).to_have_value("5")
    person.click(page.get_by_role("button", name="Start"))
    expect(page.get_by_text("Rollout started: version 2 for 5% of the requests.")).to_be_visible()
    assert person.count == 3

    # Widen it: the field follows the slider.
    page.get_by_role("slider").fill("100")
    expect(page.get_by_role("spinbutton")).to_have_value("100")
    page.get_by_role("button", name="Change share").click()
    expect(page.get_by_role("heading", name="new 100%")).to_be_visible()

    # People get it, and give feedback.
    for user in ("ada", "ben", "cleo"):
        answer = ran(paula, agent_id, requestContext={"userId": user})
        assert "two" in answer["text"]
        said = {"runId": answer["runId"], "name": "helpful", "value": user != "ben"}
        assert paula.post("/feedback", said).status == 201
    page.reload()
    words = arm_of(page, "new")
    assert "Runs\n3" in words and "helpful" in words and "too few to tell" in words

    # The rollout is shown next to the live version.
    for address in ("change/", "history/", "publish/"):
        page.goto(f"versioning/agent/{agent_id}/{address}")
        expect(page.locator(".share-strip")).to_contain_text("Version 2 runs on 100% of the requests.")
    page.goto("versioning/agent/?q=Tried")
    expect(page.get_by_role("link", name="On 100%")).to_be_visible()

    page.get_by_role("link", name="On 100%").click()
    person = Clicks(page)
    person.click(page.get_by_role("link", name="Make “new” live…"))
    person.click(page.get_by_role("button", name="Make version 2 live"))
    expect(page.get_by_text("Version 2 is live.")).to_be_visible()
    assert person.count == 2
    assert served(paula, agent_id)["instructions"] == "two"
    page.goto(f"versioning/agent/{agent_id}/runs/")
    expect(page.get_by_role("row", name=re.compile("Version 2 Live new Runs: 3"))).to_be_visible()


def test_stopping_is_one_click_and_all_people_get_the_live_version(enter: Enter, api_of: Apis) -> None:
    paula = api_of("paula")
    AGENTS.make(paula, "stopped", "one", workspaceId="acme", model=ECHO, autoPublish=True)
    draft = AGENTS.save(paula, "stopped", "two")["latestVersionId"]
    page = enter("paula", f"versioning/agent/stopped/share/?version={draft}")
    page.get_by_label("Share of the requests, in percent").first.fill("100")
    page.get_by_label("Split traffic by").fill("user id")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".error")).to_contain_text("Must be a path in the request context")
    page.get_by_label("Split traffic by").fill("userId")
    page.get_by_role("button", name="Start").click()
    context = {"userId": "ada"}
    expect(page.get_by_role("button", name="Stop rollout")).to_be_visible()
    assert served(paula, "stopped", context=context)["instructions"] == "two"

    # Meanwhile publishing says why it cannot be, and where to go.
    page.goto(f"versioning/agent/stopped/publish/?version={draft}")
    expect(page.get_by_role("alert").first).to_contain_text("A rollout is running")
    page.get_by_role("link", name="View rollout").click()
    page.get_by_role("button", name="Stop rollout").click()
    expect(page.get_by_text("Rollout stopped. Everyone gets the live version.")).to_be_visible()
    assert served(paula, "stopped", context=context)["instructions"] == "one"
