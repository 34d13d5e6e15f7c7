"""From a dataset to an experiment, and from a draft to its result, as people do it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.test_editing import ECHO, make
from tests.support.api import AGENTS, SCORERS
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]


def test_an_experiment_takes_eight_clicks_and_a_draft_one(enter: Enter, api_of: ApiOf) -> None:
    paula = api_of("paula")
    make(AGENTS, paula, "judged", name="Judged", instructions="Answer.", model=ECHO)
    scorer = {"name": "Same", "id": "same", "type": "equals", "workspaceId": "acme", "autoPublish": True}
    assert paula.post(SCORERS.path, scorer).status == 201
    made = paula.post("/datasets", {"name": "Judging", "workspaceId": "acme"})
    items = [{"input": f"Question {number}", "groundTruth": "Answer"} for number in range(3)]
    assert paula.post(f"/datasets/{made.body['id']}/items/batch", {"items": items}).status == 201

    page = enter("paula")
    person = Clicks(page)
    main = page.get_by_role("navigation", name="Main")
    person.click(main.locator("summary"))
    person.click(main.get_by_role("link", name="Datasets"))
    person.click(page.get_by_role("link", name="Judging"))
    person.click(page.get_by_role("link", name="New experiment"))
    page.get_by_label("Agent").select_option(label="Judged")
    person.check(page.get_by_role("checkbox", name="Same"))
    person.click(page.locator("main button[type=submit]").last)
    person.click(page.get_by_role("button", name="Start experiment"))
    expect(page.get_by_role("heading", name="Judged")).to_be_visible()
    assert person.count <= 8
    expect(main.locator("summary[aria-current=page]")).to_contain_text("Experiments")

    answer = paula.patch(AGENTS.url("judged"), {"instructions": "Answer well."})
    assert answer.status == 200, answer.body
    page = enter("paula", "versioning/agent/judged/publish/", width=NARROW)
    page.get_by_role("button", name="Evaluate this draft").click()
    expect(page.get_by_text("Evaluating on “Judging”")).to_be_visible()
    assert flaws(page) == []
    page.goto(page.url.replace("versioning/agent/judged/publish/", "experiments/?agent=judged"))
    expect(page.get_by_role("link", name="Judged").first).to_be_visible()
    assert flaws(page) == []


def test_the_form_of_a_gate_shows_what_the_rule_needs_and_leads_to_the_warning(
    enter: Enter, api_of: ApiOf
) -> None:
    paula = api_of("paula")
    make(AGENTS, paula, "gated", name="Gated", instructions="Answer.", model=ECHO)
    scorer = {"name": "Alike", "id": "alike", "type": "equals", "workspaceId": "acme", "autoPublish": True}
    assert paula.post(SCORERS.path, scorer).status == 201
    made = paula.post("/datasets", {"name": "Six items", "workspaceId": "acme"})
    items = [{"input": f"Question {number}", "groundTruth": "Answer"} for number in range(6)]
    assert paula.post(f"/datasets/{made.body['id']}/items/batch", {"items": items}).status == 201

    page = enter("paula", "versioning/workspace/acme/gates/add/", width=NARROW)
    limit, tag = page.get_by_label("Limit"), page.get_by_label("Only items with this tag")
    rule = page.get_by_label("A version may go live if")
    expect(limit).to_be_hidden()
    expect(tag).to_be_hidden()
    rule.select_option(value="allPass")
    expect(tag).to_be_visible()
    rule.select_option(value="passRate")
    expect(tag).to_be_hidden()
    limit.fill("50")
    page.get_by_label("Agent").select_option(label="Gated")
    page.get_by_label("Dataset").select_option(label="Six items (6 items)")
    page.get_by_role("checkbox", name="Alike").check()
    page.get_by_role("button", name="Create gate").click()
    warning = page.locator("[data-answer]")
    expect(warning).to_be_focused()
    expect(warning).to_be_in_viewport()
    assert flaws(page) == []
    page.get_by_role("button", name="Create gate anyway").click()
    expect(page.get_by_text("Gate saved.")).to_be_visible()
    assert flaws(page) == []

    page.goto("versioning/agent/gated/change/")
    bar = page.locator(".dock")
    expect(bar.get_by_role("button")).not_to_have_count(2)  # other applications have added theirs
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] < 80
    last = bar.get_by_role("button").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)
    assert flaws(page) == []
