"""Signing in through a provider, at first and over a page that is being edited."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import Watched
from tests.browser.test_editing import text_of
from tests.support.api import AGENTS
from tests.support.identity_provider import identity_provider
from tests.support.remote import connected
from tests.support.service import running_service

GROUPS = [{"provider": "corp", "group": "writers", "workspace": "default", "role": "editor"}]


def test_people_sign_in_through_their_provider_also_over_a_page(browser: Browser, tmp_path: Path) -> None:
    with (
        identity_provider() as provider,
        running_service(
            tmp_path,
            EDITOR_SIGN_IN="sso",
            EDITOR_OIDC=json.dumps([provider.settings()]),
            EDITOR_SSO_GROUPS=json.dumps(GROUPS),
        ) as service,
    ):
        provider.person["groups"] = ["writers"]
        with connected(service) as robot:
            AGENTS.make(robot, "writer", instructions="Write well.", autoPublish=True)
        watched, context = Watched(), browser.new_context(base_url=f"{service.url}/studio/")
        page = context.new_page()
        with watched.watching(page):
            page.goto("versioning/agent/writer/change/")
            expect(page.get_by_label("Password")).to_have_count(0)
            page.get_by_role("link", name="Sign in with Corp").click()
            text_of(page).fill("Typed by Ada.")
            context.clear_cookies()
            page.get_by_role("button", name="Save draft").click()
            with context.expect_page() as elsewhere:
                page.get_by_role("dialog").get_by_role("link", name="Sign in with Corp").click()
            expect(elsewhere.value.get_by_role("heading", name="Home", level=1)).to_be_visible()
            elsewhere.value.close()
            page.evaluate("window.dispatchEvent(new Event('focus'))")  # Playwright's pages always have it
            expect(page.get_by_text("is saved as a draft.")).to_be_visible()
            with connected(service) as robot:
                saved = robot.get(AGENTS.url("writer", "versions")).body["versions"][0]
            assert (saved["authorId"], saved["instructions"]) == ("ada", "Typed by Ada.")
        assert watched.errors == []
        context.close()
