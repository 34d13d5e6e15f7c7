"""Signing in, and the frame of the pages."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import NARROW, Enter, Session, sign_in, sign_out
from tests.support.service import Service


def test_an_editor_signs_in_and_out(enter: Enter, sessions: dict[str, Session]) -> None:
    page = enter("edgar")
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    sign_out(page)
    del sessions["edgar"]
    page.goto("versioning/agent/")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_a_member_of_no_workspace_is_shown_whom_to_contact(
    browser: Browser, studio_service: Service, keys: dict[str, str]
) -> None:
    page = browser.new_page(base_url=f"{studio_service.url}/studio/")
    sign_in(page, "nora")
    expect(page.get_by_text("not a member of any workspace")).to_be_visible()
    page.close()


def test_the_theme_is_chosen_and_stays(enter: Enter) -> None:
    page = enter("alice")
    assert not is_dark(page)
    page.locator(".bar-user > summary").click()
    page.get_by_role("button", name="Dark").click()
    assert is_dark(page)
    page.goto("versioning/agent/")
    assert is_dark(page)


def test_the_theme_of_the_system_is_used_until_one_is_chosen(enter: Enter) -> None:
    assert is_dark(enter("alice", theme="dark"))


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
