"""Every main page, at both widths and in both themes: nothing clipped, covered, foreign or inaccessible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import SCRIPT, Library, add_something_awkward
from tests.support.remote import connected
from tests.support.service import Service

PAGES = sorted(Library("", "", "", "", "").main_pages)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def library(library: Library, studio_service: Service, keys: dict[str, str]) -> Library:
    """What there is to look at, and among it something awkward."""
    with connected(studio_service, keys["edgar"]) as edgar:
        add_something_awkward(edgar)
    return library


# Of every control that is shown: it lies within the window, or in a row of links that scrolls; and what
# is in its middle is the control itself, or part of it, or holds it.
MISPLACED = """() => {
  const found = [];
  const shown = (node) => node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const scrolls = (node) => {
    const row = node.closest("nav");
    return row && /auto|scroll/.test(getComputedStyle(row).overflowX);
  };
  for (const node of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (!shown(node) || node.closest(".unseen, .skip") || node.type === "hidden") continue;
    node.scrollIntoView({block: "center", inline: "center"});
    const box = node.getClientRects()[0];
    if (!box || !box.width || !box.height) continue;
    const name = `${node.tagName} ${node.name || node.textContent.trim().slice(0, 40)}`;
    if ((box.left < -1 || box.right > innerWidth + 1) && !scrolls(node)) found.push(`${name}: clipped`);
    const there = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (there && !node.contains(there) && !there.contains(node)) found.push(`${name}: covered`);
  }
  const overflow = document.documentElement.scrollWidth - innerWidth;
  if (overflow > 0) found.push(`the page is ${overflow} pixels too wide`);
  window.scrollTo(0, 0);
  return found;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_no_control_is_clipped_or_covered(enter: Enter, library: Library, name: str) -> None:
    page = enter("alice", library.main_pages[name])
    found = {look: page.evaluate(MISPLACED) for look in looks(page)}
    assert {look: what for look, what in found.items() if what} == {}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_serious_error(enter: Enter, library: Library, name: str) -> None:
    page = enter("alice", library.main_pages[name])
    found = {look: serious_problems(page) for look in looks(page)}
    assert {look: errors for look, errors in found.items() if errors} == {}


def test_where_one_signs_in_nothing_is_clipped_or_inaccessible(enter: Enter) -> None:
    page = enter("alice")
    page.context.clear_cookies()
    page.goto("login/")
    found = {look: page.evaluate(MISPLACED) + serious_problems(page) for look in looks(page)}
    assert {look: errors for look, errors in found.items() if errors} == {}


@pytest.mark.parametrize("name", PAGES)
def test_a_script_in_a_prompt_is_text(enter: Enter, library: Library, name: str) -> None:
    page = enter("alice", library.main_pages[name])
    assert page.title() != "taken over"
    assert page.locator("script:not([src])").count() == 0


def test_a_script_in_a_prompt_is_shown_in_the_difference(enter: Enter, library: Library) -> None:
    agent = f"versioning/agent/{library.agent}"
    shown = enter("alice", f"{agent}/compare/?from={library.first}&to={library.live}")
    assert SCRIPT in shown.locator("#content").inner_text()


def looks(page: Page) -> Iterator[str]:
    """Show the page at both widths and in both themes, one after the other."""
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            page.locator("html.dark" if theme == "dark" else "html:not(.dark)").wait_for()
            yield f"{width} {theme}"


def serious_problems(page: Page) -> list[dict[str, Any]]:
    found = Axe().run(page).response["violations"]
    return [
        {"rule": problem["id"], "nodes": [node["html"][:200] for node in problem["nodes"][:3]]}
        for problem in found
        if problem["impact"] in SERIOUS
    ]
