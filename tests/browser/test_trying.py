"""Trying out as people do it: live previews, examples of contexts, versions side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.prompts import editor
from tests.browser.test_editing import ECHO, edit, make
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]
GREETING = [{"type": "text", "content": "Greet {{ customer.name || 'everyone' }}."}]


def save(api_of: ApiOf, kind: Kind, resource_id: str, **fields: Any) -> None:
    answer = api_of("edgar").patch(kind.url(resource_id), fields)
    assert answer.status == 200, answer.body


def answer_of(page: Page, column: str) -> Any:
    return page.get_by_role("region", name=column, exact=True).locator(".turn-assistant").last


def test_the_draft_of_a_block_is_tried_next_to_the_live_one_after_three_clicks(
    enter: Enter, api_of: ApiOf
) -> None:
    make(PROMPT_BLOCKS, api_of("paula"), "trying/tone", name="Tone to try", content="Be brief.")
    make(
        AGENTS,
        api_of("paula"),
        "tone-user",
        name="User of the tone",
        instructions=[{"type": "prompt_block_ref", "id": "trying/tone"}],
        model=ECHO,
    )
    save(api_of, PROMPT_BLOCKS, "trying/tone", content="Be very brief.")
    page = enter("edgar", "versioning/promptblock/?q=trying/tone")
    person = Clicks(page)
    person.click(page.get_by_role("link", name="Tone to try").first)
    person.click(page.get_by_role("link", name="Try", exact=True))
    page.get_by_label("Message").fill("Hello?")
    person.click(page.get_by_role("button", name="Send"))
    expect(answer_of(page, "Draft")).to_have_text("Be very brief.\n\nHello?")
    expect(answer_of(page, "Live")).to_have_text("Be brief.\n\nHello?")
    assert person.count <= 4
    assert flaws(page) == []


def test_an_answer_becomes_an_item_of_a_dataset(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("paula"), "asked", name="Asked", instructions=GREETING, model=ECHO)
    made = api_of("edgar").post("/datasets", {"name": "Tried", "workspaceId": "acme"})
    assert made.status == 201, made.body
    page = enter("edgar", "versioning/agent/asked/try/")
    page.get_by_label("Message").fill("Where is it?")
    page.get_by_role("button", name="Send").click()
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Save as dataset item").first.click()
    added = opened.value
    added.get_by_label("Dataset", exact=True).select_option(label="Tried")
    expect(added.get_by_label("Input")).to_have_value("Where is it?")
    expect(added.get_by_label("A good answer")).to_have_value(re.compile("Where is it"))
    added.get_by_role("button", name="Save item").click()
    expect(added.get_by_text("Item added.")).to_be_visible()


def test_the_preview_follows_typing_and_its_context_is_saved_as_an_example(
    enter: Enter, api_of: ApiOf
) -> None:
    make(AGENTS, api_of("paula"), "greeter", name="Greeter", instructions=GREETING, model=ECHO)
    page = edit(enter, "edgar", "greeter")
    preview = page.locator("#preview-result")
    expect(preview.locator("pre .from-fallback")).to_have_text("everyone")
    editor(page, "Text").fill("Greet {{ customer.name }} of {{ city }}.")
    expect(preview.locator("pre .from-missing").last).to_have_text("{{ city }}")
    customer = page.get_by_role("group", name="customer")
    customer.get_by_label("name").fill("Ada")
    page.get_by_label("city", exact=True).fill("Rome")  # a field that has come while typing
    expect(preview.locator("pre")).to_have_text("Greet Ada of Rome.")
    page.get_by_text("Save as example").click()
    page.get_by_label("Name of the example").fill("Ada in Rome")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved as the example “Ada in Rome”.")).to_be_visible()
    assert flaws(page, page.locator("#preview-form")) == []

    page.goto("versioning/agent/greeter/preview/")
    page.get_by_label("Example", exact=True).select_option(label="(none)")
    expect(page.locator("#preview-result pre")).to_have_text("Greet everyone.")
    page.get_by_label("Example", exact=True).select_option(label="Ada in Rome")
    expect(page.locator("#preview-result pre")).to_have_text("Greet Ada.")
    page.get_by_role("group", name="customer").get_by_label("name").fill("Bob")
    expect(page.locator("#preview-result pre")).to_have_text("Greet Bob.")

    page.goto("versioning/agent/greeter/try/")  # where the example is still chosen
    expect(page.get_by_role("group", name="customer").get_by_label("name")).to_have_value("Ada")
    page.get_by_label("Message").fill("Hello?")
    page.keyboard.press("Enter")
    expect(answer_of(page, "Live")).to_have_text("Greet Ada.\n\nHello?")
    expect(page.locator(".turn-note")).to_contain_text("tokens")
    page.get_by_label("Message").fill("Still there?")
    page.get_by_role("button", name="Send").click()
    expect(answer_of(page, "Live")).to_have_text("Greet Ada.\n\nStill there?")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".turn")).to_have_count(0)


def test_several_examples_are_answered_in_a_table_with_marked_differences(
    enter: Enter, api_of: ApiOf
) -> None:
    agent = "table"
    make(AGENTS, api_of("paula"), agent, name="Table", instructions=GREETING, model=ECHO)
    save(api_of, AGENTS, agent, instructions=[{"type": "text", "content": "Greet {{ customer.name }}."}])
    page = enter("edgar", f"versioning/agent/{agent}/preview/", width=NARROW)
    for name in ("Ada", "Bob"):
        page.get_by_role("group", name="customer").get_by_label("name").fill(name)
        page.locator(".examples-keep > summary").click()
        page.get_by_label("Name of the example").fill(f"It is {name}")
        page.get_by_role("button", name="Save as a new example").click()
        expect(page.get_by_text(f"Saved as the example “It is {name}”.")).to_be_visible()
    page.goto(f"versioning/agent/{agent}/try/?mode=several")
    page.get_by_label("Without a context").check()
    page.get_by_label("Message").fill("Hello?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="6 of 6 answers")).to_be_visible()
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="It is Ada")).to_contain_text("The same")
    without = rows.filter(has_text="Without a context")
    expect(without).to_contain_text("Differs")
    expect(without.locator("del")).to_contain_text("everyone")
    expect(without.locator("ins")).to_contain_text("customer")
    assert flaws(page) == []


def test_a_failed_run_does_not_affect_the_others(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("paula"), "fails", name="Fails", instructions=GREETING, model=ECHO)
    save(api_of, AGENTS, "fails", model={"provider": "nonsense", "name": "x"})
    page = enter("edgar", "versioning/agent/fails/try/")
    page.get_by_label("Message").fill("Hello?")
    page.keyboard.press("Enter")
    draft = page.get_by_role("region", name="Draft", exact=True)
    expect(draft.locator(".turn-error")).to_contain_text("nonsense")
    expect(answer_of(page, "Live")).to_contain_text("Hello?")
    page.get_by_text("Save as example").click()
    page.get_by_label("Name of the example").fill("Nobody")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Several examples").click()
    page.get_by_label("Message").fill("Hello?")
    page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has_text="Nobody")
    expect(row.locator(".answer-error")).to_contain_text("nonsense")
    expect(row.locator("td").last).to_contain_text("Greet everyone.")
