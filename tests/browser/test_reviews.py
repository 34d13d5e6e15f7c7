"""Four eyes, as people with a mouse use them: requests, requests for changes, approving, publishing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter, Session
from tests.browser.prompts import editor
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi
from tests.support.service import Service, running_service
from tests.support.studio_cast import make_cast

Apis = Callable[[str], RemoteApi]
NEWSROOM = """
from django.contrib.auth.models import User
from versioning.conf import get_editor
from versioning.domain.access import Role
editor = get_editor()
editor.workspace.create("newsroom", "Newsroom")
for name, role in (("alice", "admin"), ("paula", "publisher"), ("edgar", "editor"), ("vera", "viewer")):
    editor.workspace.set_role("newsroom", name, Role(role))
editor.review_policy.set("newsroom", required=1)
"""


@pytest.fixture(scope="module")
def studio_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A separate server: on the shared one the cast is in one workspace, and need not choose one."""
    with running_service(tmp_path_factory.mktemp("reviews")) as service:
        yield service


@pytest.fixture(scope="module")
def keys(studio_service: Service) -> dict[str, str]:
    """An API key of each of the cast, by name."""
    return make_cast(studio_service)


@pytest.fixture(scope="module")
def sessions() -> dict[str, Session]:
    """The browser storage of people who have signed in to that server."""
    return {}


@pytest.fixture(scope="module")
def newsroom(studio_service: Service, keys: dict[str, str]) -> str:
    """A workspace of the cast that requires an approval; acme requires none."""
    studio_service.manage("shell", "--no-imports", "-c", NEWSROOM)
    return "newsroom"


def test_a_draft_is_reviewed_and_published(enter: Enter, newsroom: str, api_of: Apis) -> None:
    PROMPT_BLOCKS.make(api_of("alice"), "greeting", "Hello.", name="Greeting", workspaceId=newsroom)
    block = "versioning/promptblock/greeting"

    edgar = Clicks(enter("edgar", f"{block}/change/"))
    editor(edgar.page, "Text").fill("Hello, dear reader.")
    edgar.click(edgar.page.get_by_role("button", name="Ask for review…"))
    edgar.page.get_by_label("Message to reviewers").fill("Is that too friendly?")
    edgar.click(edgar.page.get_by_label("paula"))
    edgar.click(edgar.page.get_by_role("button", name="Ask for review", exact=True))
    expect(edgar.page.get_by_text("Needs one more approval.").first).to_be_visible()
    assert edgar.count == 3

    # alice has the page for publishing open, and waits.
    alice = Clicks(enter("alice", f"{block}/publish/"))
    publish = alice.page.get_by_role("button", name="Publish version 2", exact=True)
    expect(publish).to_be_disabled()
    expect(alice.page.get_by_text("This cannot be published yet. Needs one more approval.")).to_be_visible()

    paula = Clicks(enter("paula", width=NARROW))
    paula.click(paula.page.get_by_role("link", name="Review : Greeting"))
    expect(paula.page.get_by_text("Is that too friendly?")).to_be_visible()
    field = paula.page.locator("#field-content")
    paula.click(field.locator(".diff-no:visible").last)
    expect(field.locator("textarea:focus")).to_be_visible()
    paula.page.keyboard.type("Is anybody dear to us?")
    paula.click(field.get_by_role("button", name="Comment", exact=True))
    expect(field.locator(".thread")).to_contain_text("Is anybody dear to us?")
    paula.page.locator("#verdict-body").fill("One word too many.")
    paula.click(paula.page.get_by_role("button", name="Request changes"))
    expect(paula.page.get_by_text("Changes requested.").first).to_be_visible()
    assert paula.count == 4
    expect(alice.page.get_by_text("paula asked for changes.").first).to_be_visible()

    edgar.count = 0
    edgar.page.goto(f"{block}/change/")
    expect(edgar.page.locator("#comments .thread")).to_contain_text("Is anybody dear to us?")
    editor(edgar.page, "Text").fill("Hello, reader.")
    edgar.click(edgar.page.get_by_role("button", name="Save and update the review"))
    expect(edgar.page.get_by_role("heading", name="Review of version 3")).to_be_visible()
    assert edgar.count == 1

    # The page that paula has open says that there is a newer version.
    expect(paula.page.get_by_text("This review is now about version 3.")).to_be_visible()
    paula.click(paula.page.get_by_role("link", name="Open the newer version"))
    alice.page.goto(f"{block}/publish/")
    publish = alice.page.get_by_role("button", name="Publish version 3", exact=True)
    expect(publish).to_be_disabled()
    paula.click(paula.page.get_by_role("button", name="Approve", exact=True).first)
    alice.click(publish)  # it has turned on by itself
    expect(alice.page.get_by_text("Version 3 is live.")).to_be_visible()
    assert (paula.count, alice.count) == (6, 1)
    expect(alice.page.get_by_role("link", name="Approved by paula")).to_be_visible()
    expect(paula.page.locator(".review-head .chip").first).to_have_text("Published")
    paula.page.goto("")
    expect(paula.page.get_by_role("link", name="Review : Greeting")).to_have_count(0)


def test_a_typed_comment_is_sent_with_the_decision_or_stays(
    enter: Enter, newsroom: str, api_of: Apis
) -> None:
    PROMPT_BLOCKS.make(api_of("edgar"), "farewell", "Bye.", name="Farewell", workspaceId=newsroom)
    ask = {"resource": {"kind": "promptBlock", "id": "farewell"}}
    review = api_of("edgar").post("/reviews", ask).body["id"]
    page = enter("paula", f"versioning/promptblock/farewell/reviews/{review}/", width=NARROW)
    page.locator("#field-content .diff-no:visible").last.click()
    box = page.locator("#new-content")
    box.fill("Too short.")
    approve = page.get_by_role("button", name="Approve", exact=True).first
    page.once("dialog", lambda dialog: dialog.dismiss())
    approve.click()
    expect(box).to_have_value("Too short.")
    expect(box).to_be_focused()
    page.once("dialog", lambda dialog: dialog.accept())
    approve.click()
    expect(page.locator(".review-head .chip").first).to_have_text("Approved")
    expect(page.locator("#field-content .thread")).to_contain_text("Too short.")


def test_an_admin_publishes_without_a_review_with_a_reason(enter: Enter, newsroom: str, api_of: Apis) -> None:
    AGENTS.make(api_of("edgar"), "weather", name="Weather", workspaceId=newsroom)
    alice = Clicks(enter("alice", "versioning/agent/weather/publish/"))
    alice.click(alice.page.get_by_text("Publish without a review…"))
    alice.page.get_by_label("Why it cannot wait").fill("A storm is coming.")
    alice.click(alice.page.get_by_role("button", name="Publish without a review"))
    expect(alice.page.get_by_text("You published it without a review: “A storm is coming.”")).to_be_visible()
    assert alice.count == 2
    # A viewer sees the live version, and nothing of its review.
    vera = enter("vera", "versioning/agent/weather/change/")
    expect(vera.get_by_role("heading", level=1)).to_contain_text("Weather")
    assert not re.search(r"(?<!p)(?<!P)review", vera.locator("#content").inner_text())
    for page in ("versioning/workspace/newsroom/reviews/", "versioning/agent/weather/reviews/ask/"):
        answer = vera.goto(page)
        assert answer is not None and answer.status == 403
