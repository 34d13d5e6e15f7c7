"""Picking by name with the keyboard and the mouse, and text that becomes blocks with one click."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.flaws import MISPLACED, serious_problems
from tests.browser.prompts import editor
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi
from tests.support.service import Service

ApiOf = Callable[[str], RemoteApi]


def make(api: RemoteApi, agent_id: str, instructions: object) -> None:
    body = {"id": agent_id, "name": agent_id, "instructions": instructions, "workspaceId": "acme"}
    assert api.post(AGENTS.path, body).status == 201


def edit(enter: Enter, agent_id: str, width: int = WIDE) -> Page:
    return enter("edgar", f"versioning/agent/{agent_id}/change/", width=width)


def test_a_block_is_picked_by_its_name_with_the_keyboard_and_an_unknown_id_is_refused(
    enter: Enter, api_of: ApiOf
) -> None:
    api, own = api_of("alice"), "picking"
    for name, content in (("Greeting", "Say hello."), ("Farewell", "Say goodbye.")):
        block = {"id": f"{own}/{name.lower()}", "name": f"{name} of pickers", "content": content}
        assert api.post(PROMPT_BLOCKS.path, {**block, "workspaceId": "acme"}).status == 201
    make(api, own, [{"type": "text", "content": "Be brief."}])
    page = edit(enter, own, NARROW)
    page.get_by_role("button", name="Add prompt block").click()
    field = page.get_by_role("combobox", name="Prompt block")
    expect(field).to_be_focused()
    page.keyboard.type("of pickers")
    options = page.locator(".pick-option:visible")
    expect(options).to_have_count(2)
    expect(options.first).to_contain_text("Farewell")
    expect(options.first).to_contain_text("Say goodbye.")
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", str(options.nth(1).get_attribute("id")))
    # The open list covers what is below it, which need not be large enough meanwhile.
    assert [
        one for one in serious_problems(page.locator(".pick").first) if one["rule"] != "target-size"
    ] == []
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    assert page.evaluate(MISPLACED) == []
    page.keyboard.press("ArrowDown")
    expect(options).to_have_count(2)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(field).to_have_value(f"{own}/greeting")
    expect(page.locator(".block-title")).to_have_text("Greeting of pickers")
    # The whole name, typed and left, means the block of this name.
    page.get_by_role("button", name="Add prompt block").click()
    page.keyboard.type("farewell of pickers")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Prompt block").last).to_have_value(f"{own}/farewell")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()

    page.get_by_role("button", name="Add sub-agent").click()
    page.keyboard.type("nobody-at-all")
    sentence = "No agent matches “nobody-at-all”."
    expect(page.locator("[data-picked]").filter(has_text=sentence)).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    refused = "There is no agent with the id nobody-at-all that you may use here"
    expect(page.locator(".error").filter(has_text=refused)).to_be_visible()
    expect(page.get_by_role("combobox", name="Sub-agent")).to_have_value("nobody-at-all")


def test_a_late_answer_does_not_reopen_the_list_and_a_name_is_found_without_waiting_for_one(
    enter: Enter, api_of: ApiOf
) -> None:
    block = {"id": "late/arrival", "name": "Late arrival", "content": "Sorry.", "workspaceId": "acme"}
    assert api_of("alice").post(PROMPT_BLOCKS.path, block).status == 201
    make(api_of("alice"), "late", [{"type": "text", "content": "Be brief."}])
    page, held = edit(enter, "late"), list[Route]()
    options = page.locator(".pick-option:visible")
    page.get_by_role("button", name="Add prompt block").click()
    page.keyboard.type("late arriv")
    expect(options).to_have_count(1)

    def hold(route: Route) -> None:
        held.append(route)

    def type_and_hold_the_answer(text: str) -> None:
        page.route("**/choices/*", hold, times=1)
        with page.expect_request("**/choices/*"):
            page.keyboard.type(text)

    type_and_hold_the_answer("a")
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    held[0].continue_()
    page.evaluate("(url) => fetch(url).then((answer) => answer.text())", held[0].request.url)
    expect(options).to_have_count(0)
    type_and_hold_the_answer("l")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Prompt block")).to_have_value("late/arrival")


def test_one_text_with_placeholders_becomes_blocks_with_one_click(enter: Enter, api_of: ApiOf) -> None:
    api = api_of("alice")
    make(api, "with-names", [{"type": "text", "content": "Greet {{ customer.surname }}."}])
    make(api, "one-text", "Be brief.")
    page = edit(enter, "one-text")
    offer = page.get_by_role("button", name="Turn into blocks")
    expect(offer).to_be_hidden()
    text = editor(page, "Instructions as one text")
    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Greet {{ customer.sur")
    expect(page.get_by_role("option", name="customer.surname")).to_be_visible()
    page.keyboard.press("Enter")
    expect(text).to_have_text("Be brief. Greet {{ customer.surname }}")
    offer.click()
    expect(page.get_by_role("radio", name="Blocks")).to_be_checked()
    expect(editor(page.locator(".block").first, "Text")).to_have_text(
        "Be brief. Greet {{ customer.surname }}"
    )
    expect(offer).to_be_hidden()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    body = api_of("edgar").get(AGENTS.url("one-text"), status="draft").body
    assert body["instructions"] == [{"type": "text", "content": "Be brief. Greet {{ customer.surname }}"}]


def test_reviewers_of_a_large_workspace_are_found_by_their_names(
    enter: Enter, api_of: ApiOf, studio_service: Service
) -> None:
    program = """
from django.contrib.auth.models import User
from tests.support.people import person
from versioning.models import Workspace
Workspace.objects.create(id="crowd", name="Crowd")
for number in range(15):
    person(f"many{number:02}", crowd="editor")
User.objects.filter(username="many14").update(first_name="Grace")
"""
    studio_service.manage("shell", "--no-imports", "-c", program)
    body = {"id": "crowded", "name": "Crowded", "instructions": "Be brief.", "workspaceId": "crowd"}
    assert api_of("root").post(AGENTS.path, {**body, "autoPublish": False}).status == 201
    page = enter("root", "versioning/agent/crowded/reviews/ask/", width=NARROW)
    field = page.get_by_role("combobox", name="Someone else")
    field.click()
    page.keyboard.type("grace")
    expect(page.locator(".pick-option:visible")).to_have_count(1)
    expect(page.locator(".pick-option:visible")).to_contain_text("Grace many14 editor")
    assert serious_problems(page.get_by_role("listbox")) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Grace")).to_be_checked()
    expect(field).to_have_value("")
    page.get_by_role("button", name="Ask for review").click()
    expect(page.get_by_text("Review requested.")).to_be_visible()
    expect(page.get_by_role("list", name="Reviewers")).to_contain_text("many14")
