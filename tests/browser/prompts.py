"""Prompts in their editor: people see and use the editor; the form sends the textarea behind it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def editor(page: Page | Locator, label: str = "Instructions as one text") -> Locator:
    """Return the editor of a prompt, once the script has replaced the textarea."""
    found = page.locator(".cm-content").and_(page.get_by_label(label, exact=True))
    expect(found).to_be_visible()
    return found


def control(page: Page | Locator, name: str = "instructions.text") -> Locator:
    """Return the textarea that holds the typed text: `expect(control(page)).to_have_value(…)`."""
    return page.locator(f'textarea[name="{name}"]')


def block_control(block: Locator) -> Locator:
    """Return the textarea of a block of the instructions."""
    return block.locator("textarea[data-prompt]")
