"""A webhook and its admin: new, tried, failing, disabled, enabled again; with a real worker and receiver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Enter, Session
from tests.browser.flaws import flaws
from tests.support.api import AGENTS
from tests.support.receiver import Receiver, receiving
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.studio_cast import make_cast
from tests.support.webhooks import verify

WEBHOOKS = "versioning/workspace/acme/webhooks/"
SOON = 30_000
"""Milliseconds within which a worker has sent something, and a page shows it, on a busy machine."""


@pytest.fixture(scope="module")
def studio_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with its worker, which may send to this machine."""
    own = {"EDITOR_WORKER": "on", "EDITOR_WEBHOOK_ALLOW": "127.0.0.1"}
    with running_service(tmp_path_factory.mktemp("webhooks"), **own) as service:
        yield service


@pytest.fixture(scope="module")
def keys(studio_service: Service) -> dict[str, str]:
    """An API key of each of the cast, by name."""
    return make_cast(studio_service)


@pytest.fixture(scope="module")
def sessions() -> dict[str, Session]:
    """The browser storage of people who have signed in to that server."""
    return {}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """The receiver of the messages."""
    with receiving() as found:
        yield found


def make(page: Page, receiver: Receiver, name: str) -> str:
    """Make a webhook for publications of agents, and return its secret."""
    page.get_by_role("link", name="New webhook").click()
    page.get_by_label("URL").fill(receiver.url)
    page.get_by_label("Purpose (optional)").fill(name)
    page.locator("summary", has_text="Agents").click()
    page.get_by_role("group", name="Events to send").get_by_label("Published", exact=True).first.check()
    page.get_by_role("button", name="Create").click()
    return page.get_by_label("The secret", exact=True).input_value()


def test_a_webhook_is_created_tried_and_rotated(
    enter: Enter, studio_service: Service, keys: dict[str, str], receiver: Receiver
) -> None:
    page = enter("alice", WEBHOOKS, width=NARROW)
    secret = make(page, receiver, "Chat")
    assert flaws(page) == []
    page.reload()
    expect(page.get_by_label("The secret", exact=True)).to_have_count(0)
    page.go_back()
    page.go_forward()
    expect(page.locator("#content")).not_to_contain_text(secret)

    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#deliveries")).to_contain_text("Delivered", timeout=SOON)
    page.get_by_text("1 attempt: answered 200").click()
    expect(page.locator("#deliveries")).to_contain_text("thanks")
    assert flaws(page) == []
    assert verify(receiver.wait_for(1)[0], secret)["type"] == "webhook.ping"
    with connected(studio_service, keys["paula"]) as paula:
        AGENTS.make(paula, "hooked", workspaceId="acme", autoPublish=True)
    expect(page.get_by_text("Agent: published, hooked, version 1")).to_be_visible(timeout=SOON)

    page.get_by_role("link", name="New secret…").click()
    page.get_by_label("Hours for which the old secret also signs").fill("1")
    page.get_by_role("button", name="Create new secret").click()
    renewed = page.get_by_label("The secret", exact=True).input_value()
    assert renewed != secret
    page.get_by_role("button", name="Send again: Test message").click()
    [*_, message] = receiver.wait_for(3)
    assert verify(message, secret) == verify(message, renewed)

    page.get_by_role("link", name="Delete webhook…").click()
    page.get_by_role("button", name="Delete webhook").click()
    expect(page.get_by_text("Webhook “Chat” deleted.")).to_be_visible()


def test_a_webhook_disabled_by_a_410_is_shown_on_the_home_page_until_enabled_again(
    enter: Enter, receiver: Receiver
) -> None:
    receiver.answer = lambda _message: (410, {}, b"gone for good")
    page, home = enter("alice", WEBHOOKS), enter("alice")
    make(page, receiver, "Pipeline")
    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#state")).to_contain_text("it wants no more messages", timeout=SOON)
    notice = home.get_by_text("The webhook “Pipeline” of Acme is disabled.")
    expect(notice).to_be_visible(timeout=SOON)
    assert flaws(home, notice) == []
    home.get_by_role("link", name="View webhook").click()
    home.get_by_role("button", name="Enable webhook").click()
    expect(home.get_by_text("Webhook enabled. It receives events from now on.")).to_be_visible()
    home.goto("")
    expect(notice).to_have_count(0)


def test_the_form_works_without_a_mouse(enter: Enter, receiver: Receiver) -> None:
    page = enter("alice", f"{WEBHOOKS}add/")
    page.get_by_label("URL").focus()
    page.keyboard.type(receiver.url)
    keys = page.locator("summary", has_text="API keys")
    keys.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Revoked").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Create").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("API key: revoked")).to_be_visible()
