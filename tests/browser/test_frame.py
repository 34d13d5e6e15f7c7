"""What every page has in common, as people use it: by keyboard, on a phone, with its messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi

STOPS = 120
"""How often a person presses Tab before giving up."""

# The focused element is visible: it has a ring, and nothing covers it.
CAN_BE_SEEN = """() => {
  const node = document.activeElement, box = node.getBoundingClientRect();
  const has = ({outlineStyle, boxShadow}) => outlineStyle !== "none" || boxShadow !== "none";
  const around = node.closest(".cm-editor") ?? node.parentElement;
  const near = [node, ...node.querySelectorAll("*"), around];
  const ring = near.some((place) => has(getComputedStyle(place)) || has(getComputedStyle(place, "::after")));
  const there = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height, 200) / 2);
  return ring && (node.contains(there) || there?.contains(node));
}"""


def agent(api_of: Callable[[str], RemoteApi], resource_id: str) -> str:
    """Make a published agent, and return the URL of its edit page."""
    fields: dict[str, Any] = {"name": f"Clerk {resource_id}", "instructions": "File it.", "autoPublish": True}
    made = api_of("paula").post(AGENTS.path, {"id": resource_id, "workspaceId": "acme", **fields})
    assert made.status == 201, made.body
    return f"versioning/agent/{resource_id}/change/"


def tab_to(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until an element has the focus; each element on the way shows its focus."""
    for _stop in range(STOPS):
        page.keyboard.press(key)
        page.wait_for_function(CAN_BE_SEEN)
        if target.evaluate("node => node === document.activeElement"):
            return
    raise AssertionError(f"{STOPS} times Tab did not lead to {target}.")


def follow(page: Page, target: Locator, key: str = "Tab") -> None:
    """Tab to a link to another page, and press Enter."""
    tab_to(page, target, key)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_change_goes_live_by_keyboard_alone(enter: Enter, api_of: Callable[[str], RemoteApi]) -> None:
    agent(api_of, "clerk")
    page = enter("paula", "versioning/agent/?q=clerk")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # past the bar
    follow(page, page.get_by_role("link", name="Clerk clerk"))
    tab_to(page, page.locator("summary", has_text="Name and description"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("Description", exact=True))
    page.keyboard.type("Files what comes in.")
    follow(page, page.get_by_role("button", name="Publish…"), "Shift+Tab")
    expect(page.locator("main")).to_contain_text("Files what comes in.")
    follow(page, page.get_by_role("button", name="Publish version 2"))
    expect(page.locator(".messages")).to_contain_text("live")
    assert api_of("edgar").get(AGENTS.url("clerk")).body["description"] == "Files what comes in."


def test_on_a_phone_the_save_button_and_its_message_are_in_view_and_cover_no_focused_element(
    enter: Enter, api_of: Callable[[str], RemoteApi]
) -> None:
    page = enter("paula", agent(api_of, "phone"), width=NARROW)
    expect(page.get_by_role("button", name="Save draft")).to_be_in_viewport()
    dock = page.locator(".dock")
    for field in page.locator("main :is(input, textarea, select, button, summary):visible").all():
        field.focus()
        box, bar = field.bounding_box(), dock.bounding_box()
        assert box is not None
        assert bar is not None
        is_below = box["y"] + min(box["height"], 60) > bar["y"] + 1
        assert not is_below or field.evaluate("node => Boolean(node.closest('.dock'))"), field
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Save draft")).to_be_in_viewport()
    page.get_by_text("Name and description").click()
    page.get_by_label("Description", exact=True).fill("Files what comes in.")
    page.get_by_role("button", name="Save draft").click()
    message = page.locator(".messages[role=status] .notice")
    expect(message).to_be_in_viewport(ratio=1)
    message.get_by_role("button", name="Dismiss").click()
    expect(message).to_have_count(0)


TABS = ["Edit", "History", "Preview", "Try", "Compare", "Used by", "Activity", "Rollout", "Usage"]


def test_every_tab_is_in_view_or_in_the_menu_at_the_end(
    enter: Enter, api_of: Callable[[str], RemoteApi]
) -> None:
    page = enter("paula", agent(api_of, "tabs"))
    row = page.locator(".tabs")
    menu = row.locator("summary")
    for width in (WIDE, NARROW, 320):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        for link in row.locator(":scope > a, summary").all():
            expect(link).to_be_in_viewport(ratio=0.99)
        menu.click()
        found = [text.strip() for text in row.get_by_role("link").all_inner_texts()]
        assert sorted(found) == sorted(TABS)
        for link in row.get_by_role("link").all():
            expect(link).to_be_in_viewport(ratio=0.99)
    row.get_by_role("link", name="Usage").click()
    expect(menu).to_have_text(re.compile("^Usage"))
    expect(menu).to_have_attribute("aria-current", "page")


# Every link of the row is in the window, or in the menu.
FITS = """[...document.querySelectorAll(".bar-links > a, .bar-links summary")].every((link) => {
  const {left, right} = link.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
})"""


def test_the_pages_at_the_top_fit_every_width_and_their_numbers_stay_in_sight(
    enter: Enter, api_of: Callable[[str], RemoteApi]
) -> None:
    agent(api_of, "counted")
    api_of("edgar").patch(AGENTS.url("counted"), {"instructions": "File it well."})
    about = {"resource": {"kind": "agent", "id": "counted"}, "reviewers": ["paula"]}
    assert api_of("edgar").post("/reviews", about).status == 201
    page = enter("paula")
    row = page.locator(".bar-links")
    number = row.get_by_role("link", name=re.compile("^Reviews")).locator(".tab-count").inner_text()
    for width in (WIDE, 1024, 700, NARROW, 320):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"() => innerWidth === {width} && {FITS}")
        expect(row.locator(".tab-count:visible")).to_have_text([number])
    row.locator("summary").click()
    row.get_by_role("link", name=re.compile("^Calendar")).click()
    expect(page).to_have_url(re.compile("/studio/calendar/"))


def test_the_density_changes_immediately_and_typed_text_is_preserved(
    enter: Enter, api_of: Callable[[str], RemoteApi]
) -> None:
    page = enter("edgar", agent(api_of, "dense"))
    page.get_by_text("Name and description").click()
    page.get_by_label("Description", exact=True).fill("Not saved yet.")
    page.locator(".bar-user > summary").click()
    with page.expect_response("**/density/"):
        page.get_by_role("button", name="Compact").click()
    expect(page.locator("html.compact:not(.comfortable)")).to_be_attached()
    expect(page.get_by_label("Description", exact=True)).to_have_value("Not saved yet.")
    other = enter("edgar", "versioning/agent/")
    expect(other.locator("html.compact")).to_be_attached()
    other.locator(".bar-user > summary").click()
    with other.expect_response("**/density/"):
        other.get_by_role("button", name="Comfortable").click()
