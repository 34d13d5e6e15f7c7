"""Signing in, and the frame of the pages."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter, Session, sign_out


def test_an_editor_signs_in_and_out(enter: Enter, sessions: dict[str, Session]) -> None:
    sessions.pop("edgar", None)
    page = enter("edgar")
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    sign_out(page)
    del sessions["edgar"]
    page.goto("versioning/agent/")
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_the_theme_is_chosen_and_stays(enter: Enter) -> None:
    page = enter("alice")
    assert not is_dark(page)
    page.emulate_media(color_scheme="dark")
    page.locator("html.dark").wait_for()  # like the system, until one is chosen
    page.emulate_media(color_scheme="light")
    page.locator("html:not(.dark)").wait_for()
    page.locator(".bar-user > summary").click()
    page.get_by_role("button", name="Dark").click()
    assert is_dark(page)
    page.goto("versioning/agent/")
    assert is_dark(page)


def test_the_main_menu_is_reached_with_the_keyboard_alone(enter: Enter) -> None:
    page = enter("vera", width=NARROW)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Prompt blocks":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Prompt blocks", level=1)).to_be_visible()


def is_dark(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.classList.contains('dark')"))
