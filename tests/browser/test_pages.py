"""Every page, on a screen and a phone, in both themes: nothing clipped, covered, foreign or inaccessible."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any

import pytest
from django.urls import resolve
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.flaws import MISPLACED, flaws, violations
from tests.browser.library import SCRIPT, Library, add_something_awkward
from tests.support.api import PROMPT_BLOCKS
from tests.support.remote import connected
from tests.support.rollouts import arm, started
from tests.support.service import Service
from tests.support.studio import studio_routes
from versioning.models.keys import PREFIX_LENGTH

PAGES = sorted(Library("", "", "", "", "").main_pages)
NO_PAGES = (
    *("live/", "since/", "choices/", "convert/", "context/", "reference/", "names/", "suggestions/"),
    *(
        "run/",
        "download/",
        "audit/",
        "star/",
        "stop/",
        "weights/",
        "steps/",
        ".js",
        "<path:token>",
        "<str:resource>/",
    ),
    *("/studio/login/", "/studio/logout/", "/studio/publish/", "/studio/label/", "/studio/tag/"),
    *("/studio/releases/publish/", "/export/"),
    "/studio/session/",
    *(
        "/studio/login/local/",
        "/studio/login/second/",
        "/studio/login/second-factor/",
        "/studio/sso/<str:provider>/",
        "/callback/",
    ),
    *("/studio/login/forgotten/", "<str:token>/"),
    *("/studio/people/", "/studio/reviews/ask/"),
    *(
        "jsi18n/",
        "autocomplete/",
        "agent-choices/",
        "auth/user/",
        "auth/user/add/",
        "<path:object_id>/",
        "<id>/password/",
    ),
    *(f"<path:object_id>/{page}/" for page in ("change", "history", "delete")),  # Django's, for superusers
    "auth/user/<str:object_id>/erase/",  # with Django's below
)
"""How the addresses end that answer a GET with a fragment, JSON, a file, or another page of this list."""
NARROWEST, MIDDLE, WIDEST = 320, 768, 1920


@pytest.fixture(scope="session")  # a process can come back to this module: its work may be stolen in between
def library(library: Library, studio_service: Service, keys: dict[str, str]) -> Library:
    """The content to look at, including awkward names."""
    with connected(studio_service, keys["edgar"]) as edgar:
        add_something_awkward(edgar)
        about = {"resource": {"kind": "agent", "id": library.agent}, "message": "Is it *short*?\n\n" + SCRIPT}
        review = edgar.post("/reviews", {**about, "reviewers": ["paula"]})
        assert review.status == 201, review.body
    with connected(studio_service, keys["paula"]) as paula:
        verdict = {"versionId": library.draft, "verdict": "requestChanges", "body": "Too long\n" + SCRIPT}
        assert paula.post(f"/reviews/{review.body['id']}/verdicts", verdict).status == 200
    with connected(studio_service, keys["alice"]) as alice:
        webhook = {
            "workspaceId": "acme",
            "url": "https://93.184.215.14/",
            "eventTypes": ["agent.published"],
        }
        made = alice.post("/webhooks", webhook)
        assert made.status == 201, made.body
        items = [
            {"resource": {"kind": "agent", "id": library.agent}},
            {"resource": {"kind": "promptBlock", "id": "tone"}},
        ]
        release = alice.post("/releases", {"workspaceId": "acme", "title": "Autumn " * 20, "items": items})
        assert release.status == 201, release.body
    with connected(studio_service, keys["paula"]) as paula:
        soon = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0) + datetime.timedelta(
            days=2
        )
        about = {"resource": {"kind": "agent", "id": library.agent}, "versionId": library.draft}
        timed = paula.post("/schedules", {**about, "runAt": soon.isoformat()})
        assert timed.status == 201, timed.body
        tone = paula.get("/stored/prompt-blocks/tone").body["latestVersionId"]
        rollout = started(paula, PROMPT_BLOCKS, arm(tone, weight=500), resource_id="tone")
    key = keys["vera"][:PREFIX_LENGTH]
    return replace(
        library,
        rollout=rollout["id"],
        webhook=made.body["id"],
        key=key,
        review=review.body["id"],
        release=release.body["id"],
        schedule=timed.body["id"],
    )


# Where the bar and the page begin and end, for both are as wide as each other.
EDGES = """() => [".bar-inner", "#content"].map((place) => {
  const node = document.querySelector(place), box = node.getBoundingClientRect();
  const {paddingLeft, paddingRight} = getComputedStyle(node);
  return [box.left + parseFloat(paddingLeft), box.right - parseFloat(paddingRight)].map(Math.round);
})"""

# What a finger cannot hit: links and controls of less than 24 pixels, except those within a sentence.
# What is pressed to choose a chip or a labelled control is larger than itself.
SMALL = """() => [...document.querySelectorAll("main :is(a[href], button, input, select, summary)")]
  .filter((node) => {
    if (node.closest(".admin")) return false;
    const {width, height} = node.getBoundingClientRect(), text = node.parentElement.textContent.trim();
    const isAlone = node.closest("td, th, dd") || text.length <= node.textContent.trim().length + 2;
    if (!width || height >= 23.5 || node.matches(".unseen *, .skip, .chip, [type=hidden]")) return false;
    if (node.closest("label")?.getBoundingClientRect().height >= 24) return false;
    return isAlone && node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  })
  .map((node) => `${node.tagName} ${node.textContent.trim().slice(0, 40)}: too small`)"""


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_clipped_or_inaccessible(window: Page, library: Library, name: str) -> None:
    page = window
    page.goto(library.main_pages[name])
    assert page.title() != "taken over"
    assert page.locator("script:not([src])").count() == 0
    assert [page.locator(f"{landmark}:visible").count() for landmark in ("main", "h1")] == [1, 1]
    assert problems(page) == {}
    bar, content = page.evaluate(EDGES)
    assert bar == content


def test_no_page_is_forgotten(library: Library) -> None:
    def drawing(address: str) -> Any:
        """Return the handler of a GET, which several URLs may share; None if there is none."""
        view = resolve(address).func
        return getattr(view.view_class, "get", None) if hasattr(view, "view_class") else view

    seen = {drawing(f"/studio/{path.partition('?')[0]}") for path in library.main_pages.values()}
    pages = {route for route in studio_routes() if not route.endswith(NO_PAGES)}
    assert [route for route in pages if drawing(re.sub(r"<\w+:\w+>", "x", route)) not in {*seen, None}] == []


ALONE = ("login/", "login/forgotten/", "login/new-password/MQ/ep_made-up/")
"""Pages for people who are not signed in."""


def test_no_page_before_signing_in_is_clipped_or_inaccessible(enter: Enter) -> None:
    page = enter()
    for address in ALONE:
        page.goto(address)
        assert problems(page) == {}, address


def test_on_a_large_screen_the_page_is_as_wide_as_the_bar(enter: Enter) -> None:
    page = enter("alice", width=WIDEST)
    bar, content = page.evaluate(EDGES)
    assert bar == content
    assert content[0] > WIDEST / 20


def test_the_pages_of_django_keep_the_policy_and_fit(enter: Enter) -> None:
    page = enter("root", "auth/user/")
    page.get_by_role("link", name="edgar").click()
    page.locator("#user_form").wait_for()
    change = page.url
    for address in (
        "auth/user/?q=e",
        change,
        change.replace("change", "history"),
        change.replace("change", "password"),
        change.replace("change", "erase"),
    ):
        page.goto(address)
        users = page.locator(".bar-links").get_by_role("link", name="Users", include_hidden=True)
        assert users.get_attribute("aria-current") == "page"
        for width in (WIDE, MIDDLE, NARROW):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert [one for one in page.evaluate(MISPLACED) if "broken" in one or "covered" in one] == []
    assert problems(page) == {}
    page.goto("auth/user/?q=e")
    assert problems(page) == {}
    page.get_by_role("link", name="Superusers").click()
    expect(page.get_by_role("table", name="Users").get_by_role("link")).to_have_text(["root"])


def problems(page: Page) -> dict[int, list[Any]]:
    """Return what is wrong with an open page, by the widths at which it is."""
    now = (page.viewport_size or {})["width"]
    found = {}
    for width in sorted((WIDE, MIDDLE, NARROWEST), key=lambda width: width != now):
        page.set_viewport_size({"width": width, "height": 900})
        found[width] = flaws(page) if width == WIDE else page.evaluate(MISPLACED)
        found[width] += violations(page) if width == NARROWEST else []  # between them are parts of both
        found[width] += page.evaluate(SMALL) if width == NARROWEST else []
    return {width: flawed for width, flawed in found.items() if flawed}
