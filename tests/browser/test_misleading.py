"""What would mislead is said: a release is scheduled once, and a policy that nobody can meet is named."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]


def test_a_scheduled_release_says_so_and_is_unscheduled_before_it_changes(
    enter: Enter, api_of: ApiOf
) -> None:
    paula = api_of("paula")
    made = paula.post(
        AGENTS.path, {"id": "autumn", "name": "Autumn", "workspaceId": "acme", "instructions": "Be warm."}
    )
    assert made.status == 201, made.body
    item = {"resource": {"kind": "agent", "id": "autumn"}, "versionId": made.body["latestVersionId"]}
    release = paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": [item]}).body["id"]
    at = f"{datetime.datetime.now(tz=datetime.UTC).year + 1}-09-01T09:00"
    path = f"versioning/workspace/acme/releases/{release}/"
    page = enter("paula", path)
    page.get_by_role("link", name="Schedule…").click()
    schedule_address = page.url
    page.locator("[name=local_time]").fill(at)
    page.get_by_role("button", name="Schedule").click()
    head = page.locator(".head")
    expect(head.locator(".chip").first).to_have_text("Scheduled")
    expect(page.get_by_text("Cancel the schedule before you change this release.")).to_be_visible()
    for name in ("Title and description…", "Delete the release…", "Remove: Autumn", "Schedule…"):
        expect(page.get_by_text(name, exact=True)).to_have_count(0)
    assert flaws(page, page.locator("#content")) == []
    page.goto(schedule_address)
    expect(page.get_by_text("This release is already scheduled.")).to_be_visible()
    page.get_by_role("button", name="Cancel").first.click()
    expect(page.get_by_text("Schedule cancelled.")).to_be_visible()
    expect(head.locator(".chip").first).to_have_text("Draft")
    expect(page.get_by_text("Title and description…")).to_be_visible()


def test_a_policy_that_nobody_can_meet_is_named(enter: Enter, api_of: ApiOf) -> None:
    alice = api_of("alice")
    made = alice.put("/workspaces/acme/review-policy", {"required": 5})
    assert made.status == 200, made.body
    page = enter("alice", "versioning/workspace/acme/review-policy/", width=NARROW)
    warning = page.locator(".notice-warning", has_text="can approve versions here.")
    expect(warning).to_contain_text("No version can get the approvals that it needs.")
    assert flaws(page, warning) == []
    assert alice.put("/workspaces/acme/review-policy", {"required": 0}).status == 200
    page.reload()
    expect(warning).to_have_count(0)
    page.goto("versioning/workspace/acme/activity/")
    expect(page.get_by_text("changed the review policy of Acme: 0 → 5 approvals")).to_be_visible()


def test_an_agent_goes_live_together_with_its_unpublished_block(enter: Enter, api_of: ApiOf) -> None:
    paula = api_of("paula")
    block = {"id": "tone-to-come", "name": "Tone to come", "content": "Be brief.", "workspaceId": "acme"}
    assert paula.post(PROMPT_BLOCKS.path, block).status == 201
    agent = {
        "id": "needs-tone",
        "name": "Needs tone",
        "workspaceId": "acme",
        "instructions": [{"type": "prompt_block_ref", "id": "tone-to-come"}],
        "autoPublish": False,
    }
    assert paula.post(AGENTS.path, agent).status == 201
    page = enter("paula", "versioning/agent/needs-tone/change/")
    further = page.locator("#save-further")
    expect(further.get_by_role("button", name="Publish…")).to_be_disabled()
    for width in (NARROW, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert flaws(page, page.locator(".head")) == []
    further.get_by_role("button", name="Publish together with “Tone to come”").click()
    page.get_by_role("button", name="Publish").first.click()
    expect(page.get_by_text("2 versions went live together.")).to_be_visible()
    assert paula.get(AGENTS.url("needs-tone")).body["status"] == "published"


def test_an_experiment_finds_its_agent_among_many_by_typing(enter: Enter, api_of: ApiOf) -> None:
    paula = api_of("paula")
    for number in range(51):
        body = {"id": f"many/agent-{number}", "name": f"One of many {number}", "instructions": "Be good."}
        assert paula.post(AGENTS.path, {**body, "workspaceId": "acme"}).status == 201
    made = paula.post("/datasets", {"name": "For many", "workspaceId": "acme"})
    assert made.status == 201, made.body
    page = enter("paula", f"versioning/workspace/acme/datasets/{made.body['id']}/experiments/add/")
    agent = page.get_by_role("combobox", name="Agent", exact=True)
    agent.fill("of many 42")
    page.get_by_role("option", name="One of many 42").click()
    expect(agent).to_have_value("many/agent-42")
    assert flaws(page, page.locator("#content")) == []
