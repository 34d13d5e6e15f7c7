"""Second factors: set up, asked for after the password, also over a page, and recovery codes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from capabilities.accounts.sign_in.factors import totp
from tests.browser.conftest import sign_in, sign_out
from tests.browser.flaws import serious_problems
from tests.browser.test_editing import made, text_of
from tests.support.service import Service
from tests.support.studio_cast import PASSWORD

__all__ = ["made"]
TESS = f"""
from django.contrib.auth.models import User
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import Membership, Workspace
tess, _ = User.objects.get_or_create(username="tess")
tess.set_password({PASSWORD!r})
tess.save()
Membership.objects.get_or_create(user=tess, workspace=Workspace.objects.get(pk="acme"), role=Role.EDITOR)
"""
PAGE = "account/second-factor/"


@pytest.fixture
def page(browser: Browser, studio_service: Service, keys: dict[str, str]) -> Iterator[Page]:
    """A window in which tess has signed in; security keys need the name of a host."""
    studio_service.manage("shell", "--no-imports", "-c", TESS)
    context = browser.new_context(
        base_url=f"{studio_service.url}/studio/".replace("127.0.0.1", "localhost"), reduced_motion="reduce"
    )
    page = context.new_page()
    sign_in(page, "tess")
    yield page
    context.close()
    studio_service.manage("remove_second_factor", "tess")


def code_of(secret: str, later: int = 0) -> str:
    return totp.code_at(secret, int(time.time()) // totp.STEP + later)


def set_up_app(page: Page) -> tuple[str, list[str]]:
    """Set up an app; return its secret and the recovery codes."""
    page.goto(PAGE)
    secret = page.locator("#totp-secret").inner_text()
    expect(page.get_by_alt_text("QR code")).to_be_visible()
    page.get_by_label("Code that the app shows").fill(code_of(secret))
    page.get_by_role("button", name="Add app").click()
    expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()
    assert serious_problems(page) == []
    return secret, page.locator("#recovery-codes li").all_inner_texts()


def test_a_code_and_recovery_codes_are_asked_for_after_the_password(page: Page, made: str) -> None:
    secret, codes = set_up_app(page)
    sign_out(page)
    sign_in(page, "tess")
    code = page.get_by_label("Code")
    code.fill("123456")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Wrong code.")
    assert serious_problems(page) == []
    code.fill(code_of(secret, later=1))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    sign_out(page)
    sign_in(page, "tess")
    code.fill(codes[0])
    page.get_by_role("button", name="Continue").click()
    page.goto(PAGE)
    expect(page.get_by_text("9 recovery codes are left.")).to_be_visible()

    # The second step is taken over a page, too.
    page.goto(f"versioning/agent/{made}/change/")
    text_of(page).fill("Typed by Tess.")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save draft").click()
    dialog = page.get_by_role("dialog", name="You are signed out")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    code = dialog.get_by_label("Code")
    expect(code).to_be_focused()
    code.fill("wrong")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Wrong code.")
    assert serious_problems(dialog) == []
    code.fill(codes[1])
    dialog.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("is saved as a draft.")).to_be_visible()
    expect(dialog).to_have_count(0)


def test_a_security_key_is_added_and_used(page: Page) -> None:
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "usb", "automaticPresenceSimulation": True}
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    page.goto(PAGE)
    page.get_by_label("Name").fill("Blue")
    page.locator("form[data-webauthn] button").click()
    expect(page.get_by_text("Blue")).to_be_visible()
    sign_out(page)
    sign_in(page, "tess")
    page.get_by_role("button", name="Use your security key").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
