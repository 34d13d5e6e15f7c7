"""The pictures in docs/screenshots: `make screenshots` renders them again."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import SCRIPT, TONE, Library
from tests.support.api import AGENTS
from tests.support.remote import connected
from tests.support.service import Service

FOLDER = Path(__file__).resolve().parents[2] / "docs/screenshots"
SHOWN = [
    *((name, WIDE, "light") for name in ("home", "agents", "edit-agent", "history", "compare", "publish")),
    *((name, WIDE, "light") for name in ("preview", "try", "members", "activity-of-workspace")),
    *((name, WIDE, "light") for name in ("waiting", "search", "review", "release", "calendar", "dataset")),
    *((name, WIDE, "dark") for name in ("edit-agent", "schedule")),
    *((name, NARROW, "dark") for name in ("home", "edit-agent", "compare")),
    *((name, NARROW, "light") for name in ("waiting", "edit-arabic", "edit-long-name")),
    ("edit-200-kilobytes", WIDE, "light"),
]
ARABIC = (
    "أنت مساعد خدمة العملاء في متجر {{ shop.name || 'our shop' }}.\n"
    "أجب دائمًا باللغة العربية الفصحى، وباختصار.\n\n"
    "- إذا طلب العميل استرجاع المبلغ، فاطلب رقم الطلب `#12345`.\n"
    "- رحّب بالعميل {{ customer.name }} بالاسم."
)
RULE = "Answer in the language of the question, and quote the paragraph on which the answer rests. "
AWKWARD: dict[str, tuple[str, Any]] = {
    "arabic": ("مساعد خدمة العملاء", [{"type": "text", "content": ARABIC}]),
    "200-kilobytes": ("The rule book", "\n\n".join(f"## Rule {n}\n{RULE * 10}" for n in range(1, 221))),
    "long-name": (
        ("Guideline for returns, exchanges and refunds in all European markets, " * 3)[:200],
        "Short.",
    ),
}
"""What is hard to show: the name and the instructions of an agent, by its id."""


@pytest.fixture(scope="session", autouse=True)
def nothing_hostile() -> Iterator[None]:
    """Use ordinary texts for the documentation in place of the hostile scripts of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.browser.library.SCRIPT", "Thank them for waiting.")
        patch.setattr("tests.browser.library.TONE", TONE.replace(SCRIPT, "Thank them for waiting."))
        yield


@pytest.fixture(scope="session")
def pages(library: Library, studio_service: Service, keys: dict[str, str]) -> dict[str, str]:
    """The addresses of the pages, with a review, a release, a schedule, and agents that are hard to show."""
    kind, about = {"kind": "agent", "id": library.agent}, {"versionId": library.draft}
    monday = {"localTime": f"{next_monday():%Y-%m-%d}T09:00", "timeZone": "Europe/Berlin"}
    with connected(studio_service, keys["edgar"]) as edgar, connected(studio_service, keys["paula"]) as paula:
        asked = edgar.post("/reviews", {"resource": kind, **about, "message": "Is a sentence enough?"})
        items = [{"resource": kind, **about}, {"resource": {"kind": "promptBlock", "id": "tone"}}]
        release = edgar.post("/releases", {"workspaceId": "acme", "title": "Winter wording", "items": items})
        for resource_id, (name, instructions) in AWKWARD.items():
            awkward = {"name": name, "instructions": instructions, "workspaceId": "acme"}
            last = AGENTS.make(edgar, resource_id, **awkward)
        about = {"resource": {"kind": "agent", "id": last["id"]}, "versionId": last["latestVersionId"]}
        timed = paula.post("/schedules", {**about, **monday})
    assert (asked.status, release.status, timed.status) == (201, 201, 201), (asked, release, timed)
    made = replace(library, review=asked.body["id"], release=release.body["id"], schedule=timed.body["id"])
    return made.main_pages | {f"edit-{one}": f"versioning/agent/{one}/change/" for one in AWKWARD}


def next_monday() -> datetime.date:
    today = datetime.datetime.now(datetime.UTC).date()
    return today + datetime.timedelta(days=7 - today.weekday())


@pytest.fixture
def no_tour(enter: Enter, library: Library) -> None:
    """Dismiss the introduction that the home page shows on the first visit."""
    dismiss = enter("alice").get_by_role("button", name="Got it")
    if dismiss.is_visible():
        dismiss.click()
        dismiss.wait_for(state="detached")


@pytest.mark.parametrize(("name", "width", "theme"), SHOWN)
@pytest.mark.usefixtures("no_tour")
def test_a_screenshot_is_taken(
    enter: Enter, pages: dict[str, str], name: str, width: int, theme: str
) -> None:
    page = enter("alice", pages[name], width=width, theme=theme)
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
