"""The pictures in docs/screenshots: `make screenshots` renders them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import SCRIPT, TONE, Library

FOLDER = Path(__file__).resolve().parents[2] / "docs/screenshots"
SHOWN = [
    *((name, WIDE, "light") for name in ("home", "agents", "edit-agent", "history", "compare", "publish")),
    *((name, WIDE, "light") for name in ("preview", "try", "members", "activity-of-workspace")),
    *((name, WIDE, "light") for name in ("waiting", "search", "blocks", "version")),
    *((name, WIDE, "dark") for name in ("edit-agent", "compare")),
    *((name, NARROW, "dark") for name in ("home", "edit-agent", "compare")),
]


@pytest.fixture(scope="session", autouse=True)
def nothing_hostile() -> Iterator[None]:
    """Use ordinary texts for the documentation in place of the hostile scripts of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.browser.library.SCRIPT", "Thank them for waiting.")
        patch.setattr("tests.browser.library.TONE", TONE.replace(SCRIPT, "Thank them for waiting."))
        yield


@pytest.fixture
def no_tour(enter: Enter, library: Library) -> None:
    """Dismiss the introduction that the home page shows on the first visit."""
    dismiss = enter("alice").get_by_role("button", name="Got it")
    if dismiss.is_visible():
        dismiss.click()
        dismiss.wait_for(state="detached")


@pytest.mark.parametrize(("name", "width", "theme"), SHOWN)
@pytest.mark.usefixtures("no_tour")
def test_a_screenshot_is_taken(enter: Enter, library: Library, name: str, width: int, theme: str) -> None:
    page = enter("alice", library.main_pages[name], width=width, theme=theme)
    picture = FOLDER / f"{name}-{width}-{theme}.png"
    page.screenshot(path=picture, animations="disabled", caret="hide")
    assert picture.stat().st_size


def test_a_screenshot_of_several_examples_is_taken(enter: Enter, library: Library) -> None:
    page = enter("alice", library.main_pages["preview"])
    for name, topic, customer in (("Invoice of Ada", "billing", "Ada"), ("Parcel of Bob", "delivery", "Bob")):
        page.get_by_label("topic").select_option(label=topic)
        page.get_by_role("group", name="customer").get_by_label("name").fill(customer)
        page.locator(".examples-keep > summary").click()
        page.get_by_label("Name of the example").fill(name)
        page.get_by_role("button", name="Save as a new example").click()
        page.get_by_text(f"Saved as the example “{name}”.").wait_for()
    page.goto(library.main_pages["try-several"])
    page.get_by_label("Message").fill("Where is my order?")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("4 of 4 answers").wait_for()
    page.locator("ins").first.wait_for()
    picture = FOLDER / "try-several-1280-light.png"
    page.screenshot(path=picture, animations="disabled", caret="hide", full_page=True)
