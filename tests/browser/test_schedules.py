"""Going live at a time, as a person with a mouse schedules it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import MISPLACED
from tests.browser.library import Library
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

Apis = Callable[[str], RemoteApi]


def test_a_version_is_scheduled_in_four_clicks_and_found_in_one(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    paula, address = api_of("paula"), "versioning/promptblock/timed/change/"
    PROMPT_BLOCKS.make(paula, "timed", name="Timed block", workspaceId="acme", autoPublish=True)
    PROMPT_BLOCKS.save(paula, "timed", "later")
    page = enter("paula", address, width=NARROW)
    person = Clicks(page)
    person.click(page.get_by_role("button", name="Publish…"))
    person.click(page.get_by_role("link", name="Schedule…"))
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=6)
    page.get_by_label("Day and time").fill(f"{when:%Y-%m-%dT%H:%M}")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    person.click(page.get_by_role("button", name="Schedule version", exact=True))
    said = re.compile(r"Version \d goes live on .* UTC \(.* Europe/Berlin\), by you\.")
    expect(page.locator(".schedule-strip")).to_contain_text(said)
    assert person.count <= 4

    page.goto("")
    person = Clicks(page)
    expect(page.get_by_role("region", name="Your schedules")).to_contain_text("Timed block")
    person.click(page.get_by_role("link", name=re.compile("^Your schedules")))
    soon = page.get_by_role("region", name="Scheduled for the next seven days")
    expect(soon).to_contain_text("Timed block: version 2 goes live")
    expect(soon).to_contain_text("Europe/Berlin")
    assert person.count == 1

    # An open edit page shows a hotfix, and the end.
    page.goto(address)
    strip = page.locator(".schedule-strip")
    expect(strip).not_to_contain_text("will fail")
    PROMPT_BLOCKS.save(paula, "timed", "mended", autoPublish=True)
    expect(strip).to_contain_text("As things stand it will fail")
    page.get_by_role("button", name="Cancel the schedule").click()
    expect(page.get_by_text("Schedule cancelled. Nothing live has changed.")).to_be_visible()
    expect(page.locator(".schedule-strip")).to_have_count(0)


def test_pages_and_presets_are_in_the_time_zone_of_the_browser(
    enter: Enter, library: Library, api_of: Apis
) -> None:
    paula, zone = api_of("paula"), "Pacific/Kiritimati"  # 14 hours ahead of UTC
    made = AGENTS.make(paula, "elsewhere", workspaceId="acme")
    address = "versioning/agent/elsewhere"
    page = enter("paula", f"{address}/history/", zone=zone)
    page.reload()  # the page before has told the service the zone
    saved = datetime.datetime.fromisoformat(made["createdAt"]).astimezone(ZoneInfo(zone))
    expect(page.locator("tr.day").first).to_have_text(f"{saved:%a %-d %B}")
    row = page.locator(".version-saved time").first
    expect(row).to_have_text(f"{saved:%H:%M}")
    expect(row).to_have_attribute("title", re.compile(rf"{saved:%H:%M} {zone} \(.*\d\d:\d\d UTC\)"))

    page.goto(f"{address}/schedule/")
    expect(page.get_by_label("Time zone")).to_have_value(zone)
    page.get_by_role("button", name="Monday 9:00").click()
    monday = datetime.datetime.fromisoformat(page.get_by_label("Day and time").input_value())
    ahead = monday.replace(tzinfo=ZoneInfo(zone)) - datetime.datetime.now(ZoneInfo(zone))
    assert (monday.weekday(), f"{monday:%H:%M}") == (0, "09:00") and 0 <= ahead.days <= 7
    assert page.evaluate(MISPLACED) == []
    page.get_by_role("button", name="Schedule version", exact=True).click()
    expect(page.locator(".schedule-strip")).to_contain_text(f"{monday:%a %-d %B} at 09:00 {zone}")

    page.goto("preferences/")
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Its times are those of Europe/Berlin.")).to_be_visible()
    page.goto(f"{address}/history/")
    expect(page.locator(".schedule-strip")).to_contain_text(
        f"Europe/Berlin ({monday:%a %-d %B} at 09:00 {zone})"
    )
    page.goto("preferences/")
    page.get_by_label("Time zone").select_option("")
    page.get_by_role("button", name="Save").click()
