"""Pasting into prompts: invisible characters and foreign placeholders are named, and changed if asked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.prompts import control, editor
from tests.support.api import PROMPT_BLOCKS
from tests.support.remote import RemoteApi
from versioning.domain.texts import invisible_runs, script_pattern

Apis = Callable[[str], RemoteApi]
UNDO_GROUP = 600  # milliseconds, after which the editor undoes changes separately


def paste(page: Page, text: str) -> None:
    """Paste a text where the focus is, as the browser does."""
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const about = { clipboardData: data, bubbles: true, cancelable: true };
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", about));
        }""",
        text,
    )


def opened(enter: Enter, api_of: Apis, name: str, text: str, width: int = 1280) -> Page:
    """Open the edit page of a prompt block, with the cursor at the end of its text."""
    PROMPT_BLOCKS.make(api_of("paula"), name, text)
    page = enter("paula", f"versioning/promptblock/{name}/change/", width=width)
    editor(page, "Text").focus()
    page.keyboard.press("Control+End")
    return page


@pytest.mark.parametrize("width", [NARROW, 768, 1280])
def test_what_came_with_a_paste_is_named_and_changed_on_request_alone(
    enter: Enter, api_of: Apis, width: int
) -> None:
    before = "Own {braces} and\u200b. "
    page = opened(enter, api_of, f"pasted-{width}", before, width)
    text, note = control(page, "content"), page.locator(".paste-note")
    pasted = "Hi ${user.name},\u200b\ufeff {topic} %s %(city)s {{kept}} 5%s {1} 👩\u200d🚀."
    paste(page, pasted)
    expect(text).to_have_value(before + pasted)
    expect(note).to_contain_text("2 invisible characters came with the pasted text: U+200B, U+FEFF")
    expect(note).to_contain_text("${user.name} → {{user.name}}, {topic} → {{topic}}, %s → {{value}}")
    assert flaws(page) == []
    page.wait_for_timeout(UNDO_GROUP)
    note.get_by_role("button", name="Remove invisible characters").click()
    clean = pasted.replace("\u200b\ufeff", "")
    expect(text).to_have_value(before + clean)
    expect(note.get_by_role("button", name="Remove invisible characters")).to_have_count(0)
    page.wait_for_timeout(UNDO_GROUP)
    note.get_by_role("button", name="Convert placeholders").click()
    converted = "Hi {{user.name}}, {{topic}} {{value}} {{city}} {{kept}} 5%s {1} 👩\u200d🚀."
    expect(text).to_have_value(before + converted)
    expect(note).to_be_hidden()
    # Undo brings back what was pasted, step by step, and with it the offer.
    page.keyboard.press("Control+z")
    expect(text).to_have_value(before + clean)
    expect(note).to_contain_text("{topic} → {{topic}}")
    page.keyboard.press("Control+z")
    expect(text).to_have_value(before + pasted)
    page.keyboard.press("Control+z")
    expect(text).to_have_value(before)
    expect(note).to_be_hidden()


def test_offers_follow_the_pasted_text_and_can_be_refused(enter: Enter, api_of: Apis) -> None:
    page = opened(enter, api_of, "pasted-and-edited", "End.")
    text, note = control(page, "content"), page.locator(".paste-note")
    page.keyboard.press("Control+Home")
    paste(page, "%s or %d, {a}. ")
    page.keyboard.press("Control+Home")
    page.keyboard.type("{b} ")
    page.keyboard.press("Control+End")
    page.keyboard.type(" {c}")
    expect(note).to_contain_text("%s → {{value1}}, %d → {{value2}}, {a} → {{a}}")
    note.get_by_role("button", name="Convert placeholders").click()
    expect(text).to_have_value("{b} {{value1}} or {{value2}}, {{a}}. End. {c}")
    paste(page, "{d}")
    note.get_by_role("button", name="Keep pasted text").click()
    expect(note).to_have_count(0)
    paste(page, "Plain text, 100 % plain.")
    expect(note).to_be_hidden()


def test_a_paste_into_a_new_agent_is_looked_at_too(enter: Enter, api_of: Apis) -> None:
    page = enter("paula", "versioning/agent/add/")
    editor(page, "Instructions").focus()
    paste(page, "Hello {name}\u200b")
    note = page.locator(".paste-note")
    note.get_by_role("button", name="Remove invisible characters").click()
    expect(control(page, "text")).to_have_value("Hello {name}")


def test_scripts_find_the_characters_of_which_the_service_warns(enter: Enter) -> None:
    page = enter("paula", "versioning/agent/add/")
    chance = random.Random(16)
    pieces = [
        *(
            "\u200b",
            "\u200c",
            "\u200d",
            "\ufeff",
            "\ufe0f",
            "\ufe00",
            "\u00ad",
            "\u202e",
            "\u2028",
            "\x1b",
            "\r",
            "\n",
        ),
        *(
            "a",
            "é",
            "ب",
            "क",
            "漢",
            "ᠠ",
            "가",
            "\u115f",
            "\u3164",
            "\u180b",
            "1",
            "\u20e3",
            "❤",
            "👩",
            "🏽",
            "🚀",
        ),
        *("\U000e0100", "\U000e0041", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴"),
    ]
    texts = ["".join(chance.choices(pieces, k=12)) for _ in range(4000)]
    found = page.evaluate(
        """([source, texts]) => texts.map((text) => [...text.matchAll(new RegExp(source, "gsu"))]
            .filter(({ groups }) => groups.run)
            .map(({ index, 0: run }) => [[...text.slice(0, index)].length, run]))""",
        [script_pattern(), texts],
    )
    assert [[tuple(one) for one in some] for some in found] == [
        [tuple(run) for run in invisible_runs(text)] for text in texts
    ]
