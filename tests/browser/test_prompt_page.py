"""The edit page as a prompt: shared blocks read in place, order by dragging, conditions, variants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.flaws import MISPLACED, flaws
from tests.browser.library import Library
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi
from tests.support.served import reference, text

ApiOf = Callable[[str], RemoteApi]
FIRST, MIDDLE, LAST = ("Be brief.", "Be polite.\nAlways.\nEven then.", "Be done.\n" * 8)


@pytest.fixture
def made(api_of: ApiOf, request: pytest.FixtureRequest) -> str:
    """The id of a published agent with two inline texts around a shared block."""
    agent_id = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_")).strip("-")
    api = api_of("paula")
    name = f"Courtesy of {agent_id}"
    block = {"id": f"courtesy/{agent_id}", "name": name, "content": MIDDLE, "autoPublish": True}
    assert api.post(PROMPT_BLOCKS.path, {**block, "workspaceId": "acme"}).status == 201
    instructions = [text(FIRST), reference(f"courtesy/{agent_id}"), text(LAST)]
    agent = {"id": agent_id, "name": "Writer", "instructions": instructions, "autoPublish": True}
    assert api.post(AGENTS.path, {**agent, "workspaceId": "acme"}).status == 201
    return agent_id


def edit(enter: Enter, agent_id: str, **options: Any) -> Page:
    return enter("edgar", f"versioning/agent/{agent_id}/change/", **options)


def saved(page: Page, api_of: ApiOf, agent_id: str) -> dict[str, Any]:
    """Save, and return the draft."""
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    body: dict[str, Any] = api_of("edgar").get(AGENTS.url(agent_id), status="draft").body
    return body


def order(draft: dict[str, Any]) -> list[str]:
    """Return the beginnings of the blocks, in their order."""
    return [block.get("id", block.get("content", ""))[:7] for block in draft["instructions"]]


def test_a_shared_block_is_shown_in_place_and_replaced_by_another(
    enter: Enter, api_of: ApiOf, made: str, library: Library
) -> None:
    page = edit(enter, made)
    card = page.locator(".block-reference")
    expect(card).to_contain_text(f"Courtesy of {made}")
    expect(card.locator(".excerpt")).to_have_text("Be polite.\nAlways.")
    card.get_by_text("Expand", exact=True).click()
    expect(card.locator(".text")).to_have_text(MIDDLE)
    page.get_by_text("Choose another").click()
    card.get_by_role("combobox", name="Prompt block").fill("Refund")
    expect(card.get_by_role("option")).to_contain_text("Refund policy Published policies/refunds")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(card.locator(".block-title")).to_have_text("Refund policy")
    expect(card.locator(".excerpt")).to_contain_text("Refunds: within 30 days")
    assert flaws(page, card) == []
    assert order(saved(page, api_of, made)) == [FIRST[:7], "policie", LAST[:7]]


def test_a_condition_takes_two_clicks_and_name_and_description_are_changed_below_the_heading(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, made)
    person = Clicks(page)
    block = page.locator(".block").first
    person.click(block.get_by_role("button", name="Add condition"))
    page.keyboard.type("tier")
    block.get_by_label("Value", exact=True).fill("gold")
    person.click(page.get_by_role("button", name="Save draft"))
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    assert person.count == 2
    rules = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}
    draft = api_of("edgar").get(AGENTS.url(made), status="draft").body
    assert draft["instructions"][0] == {"type": "prompt_block", "content": FIRST, "rules": rules}

    about = page.locator("#about")
    about.locator("summary").click()
    about.get_by_label("Name", exact=True).fill("")
    about.get_by_label("Name", exact=True).press("Enter")  # saves nothing
    about.get_by_label("Description", exact=True).fill("Writes letters.")
    page.get_by_role("button", name="Save draft").click()
    # The error is in sight at once.
    expect(about.locator(".error")).to_be_visible()
    expect(about.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("Secretary")
    draft = saved(page, api_of, made)
    assert (draft["name"], draft["description"]) == ("Secretary", "Writes letters.")
    page.reload()
    expect(about.get_by_label("Name", exact=True)).to_be_hidden()
    expect(about).to_contain_text("Writes letters.")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_blocks_are_dragged(enter: Enter, api_of: ApiOf, made: str, width: int) -> None:
    page = edit(enter, made, width=width)
    blocks, drag = page.locator(".block"), by_mouse if width == WIDE else by_finger
    last = blocks.nth(2)
    drag(page, last.locator("[data-drag]"), blocks.first, escape=True)
    expect(page.locator(".sorting")).to_have_count(0)
    expect(blocks.nth(2)).to_contain_text("Be done.")
    drag(page, last.locator("[data-drag]"), blocks.first)
    expect(page.locator("#announced")).to_have_text("Moved to place 1 of 3.")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    # And back by one with the keyboard.
    blocks.first.get_by_role("button", name="Move this block down").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#announced")).to_have_text("Moved to place 2 of 3.")
    assert order(saved(page, api_of, made)) == [FIRST[:7], LAST[:7], "courtes"]


def by_mouse(page: Page, handle: Locator, target: Locator, *, escape: bool = False) -> None:
    """Drag a block to the place of another, or cancel the drag."""
    handle.scroll_into_view_if_needed()
    handle.hover()
    page.mouse.down()
    for _ in range(3):  # the page scrolls and closes up while one drags
        box = target.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 20, max(box["y"] + 2, 70))
    if escape:
        page.keyboard.press("Escape")
    page.mouse.up()


def by_finger(page: Page, handle: Locator, target: Locator, *, escape: bool = False) -> None:
    """Drag like `by_mouse`, on a touch screen."""
    handle.scroll_into_view_if_needed()
    touch = page.context.new_cdp_session(page)
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for _ in range(3):
        box = target.bounding_box()
        assert box is not None
        point = {"x": x, "y": max(box["y"] + 2, 70)}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    kind = "touchCancel" if escape else "touchEnd"
    touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": []})


def test_a_model_gets_variants(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, made, width=NARROW)
    model = page.get_by_role("region", name="Model", exact=True)
    model.get_by_label("Provider").first.fill("echo")
    model.get_by_label("Name", exact=True).first.fill("plain")
    model.get_by_role("radio", name="Variants").check()
    expect(model.locator(".block")).to_have_count(1)
    expect(model.locator(".block").get_by_label("Name", exact=True)).to_have_value("plain")
    model.get_by_role("button", name="Add variant").click()
    second = model.locator(".block").nth(1)
    second.get_by_label("Provider").fill("echo")
    second.get_by_label("Name", exact=True).fill("golden")
    page.keyboard.press("Tab")  # the suggestions for the name would cover what is below them
    twice = page.get_by_text("A variant above this one has no conditions either")
    expect(twice).to_have_count(2)
    expect(twice.nth(0)).to_be_hidden()
    expect(twice.nth(1)).to_be_visible()
    assert flaws(page, second) == []
    second.get_by_role("button", name="Add condition").click()
    page.keyboard.type("tier")
    second.get_by_label("Value", exact=True).fill("gold")
    expect(twice.nth(1)).to_be_hidden()
    model.get_by_role("radio", name="One model").click()  # which is refused at once
    expect(model.get_by_text("it has variants, which depend on the context")).to_be_visible()
    assert flaws(page, model) == []
    rules = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}
    assert saved(page, api_of, made)["model"] == [
        {"value": {"provider": "echo", "name": "plain"}},
        {"value": {"provider": "echo", "name": "golden"}, "rules": rules},
    ]


def test_readers_get_a_read_only_page(enter: Enter, made: str) -> None:
    page = enter("vera", f"versioning/agent/{made}/change/", width=NARROW, theme="dark")
    expect(page.get_by_role("link", name="View", exact=True)).to_have_attribute("aria-current", "page")
    expect(page.get_by_text("Be brief.")).to_be_visible()
    page.get_by_text("Expand", exact=True).click()
    expect(page.locator(".block-reference .text")).to_have_text(MIDDLE)
    assert page.locator("main textarea, main input:not([type=hidden])").count() == 0
    assert flaws(page) == []


def test_the_prompt_begins_above_the_fold_and_the_buttons_stay_in_view(enter: Enter, api_of: ApiOf) -> None:
    long, content = "An unusually long name of a prompt " * 5, {"instructions": [text(LAST * 20)]}
    made = {"id": "above-the-fold", "workspaceId": "acme", "name": long, "autoPublish": True, **content}
    assert api_of("paula").post(AGENTS.path, made).status == 201
    page = enter("paula", "versioning/agent/above-the-fold/change/")
    page.set_viewport_size({"width": WIDE, "height": 800})
    third = page.locator(".cm-line").nth(2)
    expect(third).to_be_in_viewport(ratio=1)
    assert page.locator(".cm-editor").bounding_box()["y"] < 400  # type: ignore[index]
    page.mouse.wheel(0, 5_000)
    expect(third).not_to_be_in_viewport()
    for name in ("Save draft", "Publish…"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    expect(page.locator("h1")).to_be_in_viewport()
    expect(page.locator(".head .chip-published")).to_be_in_viewport(ratio=1)
    assert page.evaluate(MISPLACED) == []
    page.set_viewport_size({"width": NARROW, "height": 844})
    page.evaluate("scrollTo(0, 500)")
    page.wait_for_function("document.querySelector('.head').getBoundingClientRect().top < 0")
    covered = page.locator(".head").bounding_box(), page.locator(".dock").bounding_box()
    assert sum(box["height"] + min(box["y"], 0) for box in covered if box) < 130, covered
    assert page.evaluate(MISPLACED) == []
