"""Every page, at all widths and in both themes: nothing clipped, covered, foreign or inaccessible."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import resolve
from playwright.sync_api import Locator, Page

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import SCRIPT, Library, add_something_awkward
from tests.support.api import PROMPT_BLOCKS
from tests.support.remote import connected
from tests.support.rollouts import arm, started
from tests.support.service import Service
from tests.support.window import studio_routes
from versioning.models.keys import PREFIX_LENGTH

PAGES = sorted(Library("", "", "", "", "").main_pages)
NO_PAGES = (
    *("live/", "since/", "choices/", "convert/", "context/", "reference/", "names/", "suggestions/"),
    *("run/", "download/", "audit/", "star/", "stop/", "weights/", ".js", "<path:token>", "<str:resource>/"),
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
    *("jsi18n/", "autocomplete/", "auth/user/", "auth/user/add/", "<path:object_id>/", "<id>/password/"),
    *(f"<path:object_id>/{page}/" for page in ("change", "history", "delete")),  # Django's, for superusers
)
"""How the addresses end that answer a GET with a fragment, JSON, a file, or another page of this list."""
Look = tuple[int, Literal["light", "dark"]]
NARROWEST, WIDEST = 320, 1920
LOOKS: tuple[Look, ...] = ((WIDE, "light"), (WIDEST, "dark"), (NARROWEST, "light"))
"""Colours are the same at every width."""
SERIOUS = {"serious", "critical"}
STANDARDS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
MORE = [["main :is(li, tr):nth-child(n + 9)"]]
"""The rest of a long list, which is like its beginning."""
LAYOUT = {**STANDARDS, "rules": {rule: {"enabled": False} for rule in COLOURS["runOnly"]}}


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


@pytest.fixture(scope="module")
def window(window: Page) -> Page:
    """A window of alice in which every page has axe from the start, instead of being sent it."""
    window.add_init_script(AXE_SCRIPT)
    return window


# Every visible control lies within the window; the element in its middle is the control, a part of it or
# its parent. Every icon is rendered as an icon, not as a word.
MISPLACED = """async () => {
  if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done));
  const found = [];
  await document.fonts.ready;
  for (const icon of document.querySelectorAll(".material-symbols-outlined"))
    if (icon.scrollWidth > icon.clientWidth + 1) found.push(`fonts/icons.txt has no ${icon.textContent}`);
  const shown = (node) => node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  for (const node of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (!shown(node) || node.closest(".unseen, .skip") || node.type === "hidden") continue;
    node.scrollIntoView({block: "center", inline: "center"});
    const box = node.getClientRects()[0];
    if (!box || !box.width || !box.height) continue;
    const name = `${node.tagName} ${node.name || node.textContent.trim().slice(0, 40)}`;
    if ((box.left < -1 || box.right > innerWidth + 1)) found.push(`${name}: clipped`);
    const there = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (there && !node.contains(there) && !there.contains(node)) found.push(`${name}: covered`);
  }
  window.scrollTo(0, 0);
  const seen = (node) => shown(node) && !node.closest(".unseen");
  const buttons = [...document.querySelectorAll(".button")].filter(seen);
  const boxes = buttons.map((node) => node.getBoundingClientRect());
  for (const [at, one] of boxes.entries()) for (const other of boxes.slice(at + 1)) {
    const across = Math.max(one.left, other.left) - Math.min(one.right, other.right);
    const down = Math.max(one.top, other.top) - Math.min(one.bottom, other.bottom);
    const names = [one, other].map((box) => buttons[boxes.indexOf(box)].textContent.trim());
    const gap = Math.max(across, down);
    if (gap < 4 && gap > -2) found.push(`${names.join(" and ")}: touch`);
  }
  const overflow = document.documentElement.scrollWidth - innerWidth;
  if (overflow > 0) found.push(`the page is ${overflow} pixels too wide`);
  window.scrollTo(0, 0);
  return found;
}"""


# Where the bar and the page begin and end, for both are as wide as each other.
EDGES = """() => [".bar-inner", "#content"].map((place) => {
  const node = document.querySelector(place), box = node.getBoundingClientRect();
  const {paddingLeft, paddingRight} = getComputedStyle(node);
  return [box.left + parseFloat(paddingLeft), box.right - parseFloat(paddingRight)].map(Math.round);
})"""


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_clipped_or_inaccessible(window: Page, library: Library, name: str) -> None:
    page = window
    page.goto(library.main_pages[name])
    assert page.title() != "taken over"
    assert page.locator("script:not([src])").count() == 0
    assert [page.locator(f"{landmark}:visible").count() for landmark in ("main", "h1")] == [1, 1]
    found = {}
    for look in looks(page):
        found[look] = problems(page, look)
        if WIDEST in look:
            bar, content = page.evaluate(EDGES)
            assert bar == content
    assert {look: what for look, what in found.items() if what} == {}


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
    page, found = enter(), {}
    for address in ALONE:
        page.goto(address)
        found |= {(address, look): problems(page, look) for look in looks(page)}
    assert {where: errors for where, errors in found.items() if errors} == {}


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
    ):
        page.goto(address)
        users = page.locator(".bar-links").get_by_role("link", name="Users", include_hidden=True)
        assert users.get_attribute("aria-current") == "page"
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width


def looks(page: Page) -> Iterator[Look]:
    """Show the page at both widths and in both themes, one after the other."""
    for look in LOOKS:
        width, theme = look
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.locator("html.dark" if theme == "dark" else "html:not(.dark)").wait_for()
        yield look


def problems(page: Page, look: Look) -> list[Any]:
    """Return the problems: the dark theme differs only by its colours, the narrow page by its layout."""
    width, theme = look
    if theme == "dark":
        return serious_problems(page, COLOURS)
    return [*page.evaluate(MISPLACED), *serious_problems(page, STANDARDS if width == WIDE else LAYOUT)]


def flaws(page: Page, part: Locator | None = None) -> list[Any]:
    """Return what is clipped or covered anywhere in a page, and what is inaccessible in a part of it.

    `part` is what a test has opened or changed, where the rest of the page is in `PAGES`.
    """
    return [*page.evaluate(MISPLACED), *serious_problems(part or page)]


def serious_problems(where: Page | Locator, rules: dict[str, Any] = STANDARDS) -> list[dict[str, Any]]:
    """Return the violations of some of axe's rules, in a page or in a part of one."""
    part = where if isinstance(where, Locator) else where.locator("html")
    if not part.page.evaluate("'axe' in window"):
        part.page.evaluate(AXE_SCRIPT)
    run = """(node, [exclude, options]) =>
      axe.run({include: [node], exclude}, options).then(({violations}) => violations)"""
    found = part.evaluate(run, [MORE, {"resultTypes": ["violations"], "preload": False, **rules}])
    return [
        {"rule": problem["id"], "nodes": [node["html"][:200] for node in problem["nodes"][:3]]}
        for problem in found
        if problem["impact"] in SERIOUS
    ]
