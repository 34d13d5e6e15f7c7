"""The editor of prompts: placeholders, undo, find and replace, the keyboard, and the page without scripts."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from editor_client.shared import instructions
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, Enter, sign_in, sign_out
from tests.browser.flaws import MISPLACED, flaws, serious_problems
from tests.browser.prompts import block_control, control, editor
from tests.browser.test_editing import ApiOf, draft, edit, made, make, save
from tests.support.api import AGENTS, PROMPT_BLOCKS

__all__ = ["made"]

ONE_TEXT = "Instructions as one text"
KEPT = "() => Object.keys(sessionStorage).filter((key) => key.startsWith('undo/')).length"
PIECES = [
    "{{",
    "}}",
    "{",
    "}",
    " ",
    "\n",
    "\t",
    "\x1c",
    "\u00a0",
    "\ufeff",
    "\u2028",
    "||",
    "|",
    '"',
    "'",
    "a",
    "b.c",
    "_x1",
    "1",
    "é",
    ".",
    "-",
]
PIECES += ["{{ a }}", "{{ b || 'c' }}", '{{d||"}}"}}', "{{ "]
"""What texts are made of to try the grammar."""


@pytest.fixture
def block(api_of: ApiOf, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Make a prompt block with a text that only this test uses; return the URL of its edit page."""
    block_id = f"{request.node.name[:40]}".replace("_", "-").removeprefix("test-").rstrip("-")

    def block(content: str) -> str:
        make(PROMPT_BLOCKS, api_of("paula"), block_id, name="Tone", content=content)
        return f"versioning/promptblock/{block_id}/change/"

    return block


def problems(page: Page) -> Locator:
    """Return the problems that are listed below the editor; they appear when a person stops typing."""
    return page.locator(".prompt-problem:visible")


def test_undo_survives_a_save_and_nothing_else_changes(enter: Enter, api_of: ApiOf, made: str) -> None:
    page = edit(enter, "edgar", made)
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" And kindly.\nThe end.")
    save(page)
    assert draft(api_of, made)["instructions"] == "Write well. And kindly.\nThe end."
    editor(page).click()
    for _ in range(2):
        page.keyboard.press("Control+z")
    expect(control(page)).to_have_value("Write well.")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    for _ in range(2):
        page.keyboard.press("Control+y")
    expect(control(page)).to_have_value("Write well. And kindly.\nThe end.")
    page.keyboard.press("Control+z")
    # The text of another person has no undo history here.
    api_of("paula").patch(AGENTS.url(made), {"instructions": "Paula's."})
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto(f"versioning/agent/{made}/change/")
    editor(page).click()
    page.keyboard.press("Control+z")
    expect(control(page)).to_have_value("Paula's.")


def test_a_save_preserves_cursor_and_scroll_position(enter: Enter, block: Callable[..., str]) -> None:
    page = enter("edgar", block("A line.\n" * 400))
    editor(page, "Text").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("The end.")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("is saved as a draft")).to_be_visible()
    expect(page.get_by_text("The end.").and_(page.locator(".cm-line"))).to_be_in_viewport()
    expect(editor(page, "Text")).to_be_focused()
    page.keyboard.type(" Or not.")
    expect(control(page, "content")).to_have_value("A line.\n" * 400 + "The end. Or not.")


def test_placeholders_are_highlighted_and_invalid_ones_are_explained(
    enter: Enter, block: Callable[..., str]
) -> None:
    page = enter(
        "edgar", block("Dear {{ customer.name || 'friend' }}, {{ order }}.\n{{ broken }\n{{ a | 'b' }}")
    )
    text = editor(page, "Text")
    expect(page.locator(".prompt-variable")).to_have_text(["{{ customer.name || 'friend' }}", "{{ order }}"])
    expect(page.locator(".prompt-fallback")).to_have_text("'friend'")
    expect(problems(page)).to_have_text(
        [
            "Line 2: A closing brace is missing after “broken”.",
            'Line 3: A fallback comes after two bars: {{ customer.name || "you" }}',
        ]
    )
    expect(page.locator(".cm-lintRange-warning")).to_have_text(["{{ broken }", "{{ a | 'b' }}"])
    described = str(text.get_attribute("aria-describedby")).split()
    heard = [page.locator(f"[id='{one}']").inner_text() for one in described]
    assert "characters, about" in heard[0] and "closing brace" in heard[1] and "Tab leaves" in heard[2]
    assert flaws(page, page.locator(".prompt-editor")) == []
    page.get_by_role("button", name="Line 2").click()
    expect(text).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("}")
    expect(problems(page)).to_have_count(1)
    expect(control(page, "content")).to_have_value(
        "Dear {{ customer.name || 'friend' }}, {{ order }}.\n{{ broken }}\n{{ a | 'b' }}"
    )


def test_placeholders_are_marked_only_in_templates(enter: Enter, api_of: ApiOf, made: str) -> None:
    api_of("paula").patch(AGENTS.url(made), {"instructions": 'Hello {{ name }}. Answer as {"a": {"b": {}}}.'})
    page = edit(enter, "edgar", made, width=NARROW)
    expect(problems(page)).to_have_text(
        ["Line 1: This is not filled in: one text is used exactly as written. Use blocks to fill in values."]
    )
    expect(page.locator(".prompt-variable:visible")).to_have_count(0)
    page.get_by_role("radio", name="Blocks").check()
    expect(page.locator(".prompt-variable:visible")).to_have_text("{{ name }}")
    expect(problems(page)).to_have_count(0)
    # Rows that are added get their editor, and the focus goes there.
    page.get_by_role("button", name="Add text", exact=True).click()
    added = page.locator(".block").nth(1)
    expect(editor(added, "Text")).to_be_focused()
    page.keyboard.type("Say {{ na")
    expect(page.get_by_role("option", name="name", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type(".")
    expect(block_control(added)).to_have_value("Say {{ name }}.")
    added.get_by_role("button", name="Move this block up").click()
    save(page)
    assert draft(api_of, made)["instructions"][0]["content"] == "Say {{ name }}."


def test_names_of_the_context_schema_are_suggested_and_unknown_ones_marked(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    schema = {"type": "object", "properties": {"loyalty_tier": {"type": "string", "title": "Customer tier"}}}
    api_of("paula").patch(
        AGENTS.url(made),
        {
            "instructions": [{"type": "text", "content": "For {{ loyalty_teir }}."}],
            "requestContextSchema": schema,
        },
    )
    page = edit(enter, "edgar", made)
    text = editor(page, "Text")
    text.click()
    expect(problems(page)).to_have_text(["Line 1: “loyalty_teir” is not in the context schema."])
    page.keyboard.press("Control+End")
    page.keyboard.type(" Always {{loyalty_ti")
    expect(page.get_by_role("option").first).to_have_text("loyalty_tier text")
    page.keyboard.press("Enter")
    expect(page.locator(".prompt-variable")).to_have_text(["{{ loyalty_teir }}", "{{ loyalty_tier }}"])
    expect(problems(page)).to_have_count(1)


def test_find_replace_and_the_full_window_with_the_keyboard(enter: Enter, made: str) -> None:
    page = edit(enter, "edgar", made)
    text = editor(page)
    text.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Well done, all is well.")
    page.keyboard.press("Control+f")
    expect(page.get_by_role("textbox", name="Find")).to_be_focused()
    page.keyboard.type("well")
    expect(page.locator(".cm-searchMatch")).to_have_count(3)
    page.get_by_role("textbox", name="Replace with").fill("fine")
    assert flaws(page, page.locator(".cm-search")) == []
    page.get_by_role("button", name="Replace all").press("Enter")
    page.keyboard.press("Escape")
    expect(text).to_be_focused()
    expect(control(page)).to_have_value("Write fine. fine done, all is fine.")
    # Tab leads on, and back.
    page.keyboard.press("Tab")
    expect(text).not_to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(text).to_be_focused()
    page.get_by_role("button", name="Full window", exact=True).press("Enter")
    expect(text).to_be_focused()
    assert text.evaluate("(node) => node.clientHeight") > 600
    assert serious_problems(page.get_by_role("dialog")) == []
    page.keyboard.type("Now: ")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(text).to_be_focused()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    expect(control(page)).to_have_value("Write fine. fine done, all is fine.Now: ")


def test_on_a_phone_the_editor_does_not_zoom(enter: Enter) -> None:
    page = enter("edgar", "versioning/promptblock/add/", width=NARROW)
    size = editor(page, "Text").evaluate("(node) => parseFloat(getComputedStyle(node).fontSize)")
    assert size >= 16
    editor(page, "Text").click()
    page.keyboard.type("{{ name }} and {{na")
    expect(page.get_by_role("option", name="name", exact=True)).to_be_visible()
    assert serious_problems(page.locator(".cm-tooltip-autocomplete")) == []
    page.keyboard.press("Escape")
    assert page.evaluate(MISPLACED) == []


def test_without_scripts_it_is_a_textarea_and_a_field_is_shown_in_the_chosen_mode(
    enter: Enter, api_of: ApiOf, made: str
) -> None:
    page = edit(enter, "edgar", made, has_scripts=False)
    page.get_by_label(ONE_TEXT).fill("Typed without scripts.")
    tools = page.locator("[data-modes=tools]")
    expect(tools.get_by_role("button")).to_have_count(0)
    tools.get_by_role("radio", name="JSON").check()
    tools.get_by_label("Tools as JSON").fill('{"search": {}}')
    save(page)
    expect(page.get_by_label(ONE_TEXT)).to_have_value("Typed without scripts.")
    saved = draft(api_of, made)
    assert (saved["instructions"], saved["tools"]) == ("Typed without scripts.", {"search": {}})


def test_the_editor_recognizes_the_placeholders_of_the_service(enter: Enter, made: str) -> None:
    page = edit(enter, "edgar", made)
    source = page.locator("script[src*='prompt-editor']").get_attribute("src")
    chosen = random.Random(26)
    texts = ["".join(chosen.choices(PIECES, k=chosen.randint(1, 14))) for _ in range(4_000)]
    found = page.evaluate(
        """async ([source, texts]) => {
          const { read } = await import(source);
          return texts.map((text) => read(text).placeholders.map(({from, to, path}) => [from, to, path]));
        }""",
        [source, texts],
    )
    pattern = instructions._PLACEHOLDER
    expected = [[[*match.span(), match["path"]] for match in pattern.finditer(text)] for text in texts]
    assert sum(map(len, expected)) > 500
    assert [one for one in zip(texts, found, expected, strict=True) if one[1] != one[2]] == []


def test_the_undo_history_is_not_shown_to_another_person(enter: Enter, made: str) -> None:
    page = enter("edgar")
    page.context.clear_cookies()  # for the session of the other tests has to go on
    sign_in(page, "edgar")
    page.goto(f"versioning/agent/{made}/change/")
    editor(page).click()
    page.keyboard.type("Edgar's words. ")
    save(page)
    page.reload()
    assert page.evaluate(KEPT) == 1
    page.once("dialog", lambda dialog: dialog.accept())
    sign_out(page)
    page.goto("login/")
    assert page.evaluate(KEPT) == 0


def test_an_arabic_prompt_reads_from_right_to_left_with_its_placeholders_from_left_to_right(
    enter: Enter, block: Callable[..., str]
) -> None:
    page = enter("edgar", block("أنت مساعد {{ shop.name || 'متجرنا' }}.\nAnswer in Arabic.\nאמת!"))
    text = editor(page, "Text")

    def edges(line: int) -> tuple[float, float]:
        """Return how far the text of a line is from the left and from the right edge."""
        around, inside = page.evaluate(
            """(line) => {
              const node = document.querySelectorAll(".cm-line")[line];
              const range = document.createRange();
              range.selectNodeContents(node);
              const boxes = [node, range].map((one) => one.getBoundingClientRect());
              return boxes.map(({left, right}) => [left, right]);
            }""",
            line,
        )
        return inside[0] - around[0], around[1] - inside[1]

    for line, is_from_right in enumerate([True, False, True]):
        left, right = edges(line)
        assert (left > right) is is_from_right, line
    placeholder, fallback = page.locator(".prompt-variable"), page.locator(".prompt-fallback")
    outer, inner = placeholder.bounding_box(), fallback.bounding_box()
    assert outer is not None
    assert inner is not None
    # The fallback is behind the name, as it is written.
    assert outer["x"] + outer["width"] - inner["x"] - inner["width"] < inner["x"] - outer["x"]
    text.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n{{ a }} ب")
    expect(control(page, "content")).to_have_value(re.compile(r"\{\{ a \}\} ب$"))
    assert flaws(page, text) == []
