"""Editing as people do it: draft and publish, collide, build a condition, try it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.prompts import control, editor
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]
ECHO = {"provider": "echo", "name": "echo"}


@pytest.fixture
def made(api_of: ApiOf, request: pytest.FixtureRequest) -> str:
    """The id of a published agent that only this test uses."""
    agent_id = request.node.name.replace("_", "-").removeprefix("test-")
    make(AGENTS, api_of("paula"), agent_id, name="Writer", instructions="Write well.", model=ECHO)
    return agent_id


def make(kind: Kind, api: RemoteApi, resource_id: str, **fields: Any) -> None:
    answer = api.post(kind.path, {"id": resource_id, "workspaceId": "acme", "autoPublish": True, **fields})
    assert answer.status == 201, answer.body


def draft(api_of: ApiOf, agent_id: str) -> dict[str, Any]:
    body: dict[str, Any] = api_of("alice").get(AGENTS.url(agent_id), status="draft").body
    return body


def edit(enter: Enter, name: str, agent_id: str, **options: Any) -> Page:
    return enter(name, f"versioning/agent/{agent_id}/change/", **options)


def text_of(page: Page) -> Locator:
    return editor(page)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()


def test_neither_of_two_colliding_editors_loses_text(enter: Enter, api_of: ApiOf, made: str) -> None:
    first, second = edit(enter, "edgar", made), edit(enter, "paula", made)
    text_of(second).fill("Write like Paula.")
    second.get_by_text("Name and description").click()
    second.get_by_role("textbox", name="Description", exact=True).fill("Paula's description")
    save(second)
    text_of(first).fill("Write like Edgar.")
    first.get_by_role("button", name="Save draft").click()
    told = first.get_by_role("alert")
    expect(told).to_contain_text("paula saved version 2, just now")
    expect(told).to_contain_text("You both changed Instructions")
    expect(first.locator("ins", has_text="Paula").first).to_be_visible()
    assert flaws(first, told) == []
    expect(control(first)).to_have_value("Write like Edgar.")
    expect(first.locator("#in-description")).to_have_value("Paula's description")
    with first.expect_event("load"):
        first.keyboard.press("Control+s")
    expect(told).to_contain_text("You both changed Instructions")
    expect(control(first)).to_have_value("Write like Edgar.")
    assert draft(api_of, made)["instructions"] == "Write like Paula."
    first.get_by_role("button", name="Replace the other version").click()
    expect(first.get_by_text("is saved as a draft.")).to_be_visible()
    expect(first.get_by_text("Not saved yet.")).to_have_count(0)
    saved = draft(api_of, made)
    assert (saved["instructions"], saved["description"]) == ("Write like Edgar.", "Paula's description")
    versions = api_of("alice").get(AGENTS.url(made, "versions")).body["versions"]
    assert [version["authorId"] for version in versions] == ["edgar", "paula", "paula"]


def test_two_edits_of_a_prompt_of_one_line_are_taken_together(enter: Enter, api_of: ApiOf) -> None:
    line = "Help customers. Answer within 30 days, and be kind. Never promise refunds."
    make(AGENTS, api_of("paula"), "one-line", name="Writer", instructions=line, model=ECHO)
    first, second = edit(enter, "edgar", "one-line", width=NARROW), edit(enter, "paula", "one-line")
    text_of(second).fill(line.replace("Never", "Do not").replace("30", "14"))
    save(second)
    text_of(first).fill(line.replace("Help", "Assist").replace("30", "60"))
    first.get_by_role("button", name="Save draft").click()
    told = first.get_by_role("alert")
    expect(told).to_contain_text("Answer within 60 days, and be kind.")
    expect(told).to_contain_text("Answer within 14 days, and be kind.")
    for width in (NARROW, 768, 1280):
        first.set_viewport_size({"width": width, "height": 900})
        assert flaws(first, told) == []
    told.get_by_role("button", name="Take both, with the other wording").click()
    expect(first.get_by_text("Both are in the form now.")).to_be_visible()
    both = "Assist customers. Answer within 14 days, and be kind. Do not promise refunds."
    expect(control(first)).to_have_value(both)
    save(first)
    assert draft(api_of, "one-line")["instructions"] == both


def test_a_condition_is_built_and_previewed(enter: Enter, api_of: ApiOf) -> None:
    agent_id = "conditions"
    make(AGENTS, api_of("paula"), agent_id, name="Writer", instructions="Write well.")
    page = edit(enter, "edgar", agent_id, width=NARROW)
    page.get_by_role("radio", name="Blocks").check()
    expect(page.locator(".block")).to_have_count(1)  # the text so far
    page.get_by_role("button", name="Add text").click()
    block = page.locator(".block").nth(1)
    editor(block, "Text").fill("Be generous.")
    block.get_by_role("button", name="Add condition").click()
    block.get_by_label("Name in the context").fill("customer.tier")
    block.get_by_label("Value", exact=True).fill("gold")
    block.get_by_role("button", name="Add group").click()
    group = block.locator(".condition .rules")
    group.get_by_role("combobox", name="A group:").select_option(label="any of these holds")
    group.get_by_label("Name in the context").fill("customer.age")
    group.get_by_label("Comparison").select_option(label="is at least")
    sort = group.get_by_label("Type of the value")
    expect(sort).to_have_value("number")
    sort.select_option("boolean")  # not just an example that looks like a value
    expect(group.get_by_label("Value", exact=True)).to_have_value("true")
    sort.select_option("number")
    group.get_by_label("Value", exact=True).fill("18")
    preview = page.locator("#preview-result")
    customer = page.get_by_role("group", name="customer")
    customer.get_by_label("tier").fill("gold")
    for age, shown in (("17", False), ("18", True)):
        customer.get_by_label("age").fill(age)
        expect(preview).to_contain_text("2. Text with conditions")
        expect(preview.get_by_text("its conditions do not hold")).to_have_count(0 if shown else 1)
        expect(preview.get_by_text("Be generous.")).to_have_count(1 if shown else 0)
    expect(customer.get_by_label("tier")).to_have_value("gold")  # typed while the other field appeared
    assert flaws(page, page.locator(".block").nth(1)) == []
    save(page)
    age = {"field": "customer.age", "operator": "greater_than_or_equal", "value": 18}
    assert draft(api_of, agent_id)["instructions"] == [
        {"type": "text", "content": "Write well."},
        {
            "type": "prompt_block",
            "content": "Be generous.",
            "rules": {
                "operator": "AND",
                "conditions": [
                    {"field": "customer.tier", "operator": "equals", "value": "gold"},
                    {"operator": "OR", "conditions": [age]},
                ],
            },
        },
    ]


def test_blocks_tools_and_sub_agents_are_picked_and_leaving_asks_until_they_are_saved(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    make(PROMPT_BLOCKS, api_of("paula"), "picked/manners", name="Good manners", content="Be polite.")
    page = edit(enter, "edgar", made)
    page.get_by_role("radio", name="Blocks").check()
    page.get_by_role("button", name="Add prompt block").click()
    picked = page.locator(".block").nth(1)
    picked.get_by_role("combobox", name="Prompt block").fill("manners")
    picked.get_by_role("option", name="Good manners").click()
    expect(picked.get_by_role("combobox", name="Prompt block")).to_have_value("picked/manners")
    expect(picked.get_by_role("link", name="Good manners")).to_be_visible()
    # Pressed as long as a person does: what leaves the picked field may not move the button away.
    page.get_by_role("button", name="Add text", exact=True).click(delay=500)
    editor(page.locator(".block").nth(2), "Text").fill("Not needed.")
    # With the keyboard alone: up, and away with the last.
    picked.get_by_role("button", name="Move this block up").focus()
    page.keyboard.press("Enter")
    page.locator(".block").nth(2).get_by_role("button", name="Remove this block").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add tool").click()
    page.get_by_label("Tool", exact=True).fill("search")
    page.get_by_label("Description of your own").fill("Look it up")
    page.get_by_role("button", name="Add sub-agent").click()
    page.get_by_role("combobox", name="Sub-agent").fill("support")
    expect(page.get_by_role("link", name="Support")).to_be_visible()
    save(page)
    expect(page.locator(".notice-warning")).to_contain_text("search")  # no such tool is known
    saved = draft(api_of, made)
    assert saved["instructions"] == [
        {"type": "prompt_block_ref", "id": "picked/manners"},
        {"type": "text", "content": "Write well."},
    ]
    assert (saved["tools"], saved["agents"]) == ({"search": {"description": "Look it up"}}, {"support": {}})

    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    editor(page.locator(".block").nth(1), "Text").fill("Write best.")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    assert asked == ["beforeunload"]


def test_an_override_of_a_code_defined_agent_starts_from_the_code(enter: Enter, api_of: ApiOf) -> None:
    page = enter("root", "versioning/agent/supervisor/change/")
    expect(page.get_by_role("heading", name="Set by the code")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_count(0)
    page.get_by_role("radio", name="One text").check()
    expect(control(page)).to_have_value("You lead a small team. Let support answer what is about orders.")
    text_of(page).fill("You lead a big team.")
    save(page)
    saved = api_of("root").get(AGENTS.url("supervisor"), status="draft").body
    assert saved["instructions"] == "You lead a big team." and "name" not in saved
