"""Going live at a time, as a person with a mouse schedules it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import Library
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

Apis = Callable[[str], RemoteApi]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_version_is_scheduled_in_four_clicks_and_found_in_one(
    enter: Enter, library: Library, api_of: Apis, width: int
) -> None:
    paula, resource_id = api_of("paula"), f"timed-{width}"
    kind = AGENTS if width == WIDE else PROMPT_BLOCKS
    slug = "agent" if width == WIDE else "promptblock"
    kind.make(paula, resource_id, name=f"Timed {width}", workspaceId="acme", autoPublish=True)
    kind.save(paula, resource_id, "later")
    page = enter("paula", f"versioning/{slug}/{resource_id}/change/", width=width)
    person = Clicks(page)
    person.click(page.get_by_role("button", name="Publish…"))
    person.click(page.get_by_role("link", name="Schedule…"))
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=6)
    page.get_by_label("Day and time").fill(f"{when:%Y-%m-%dT%H:%M}")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    person.click(page.get_by_role("button", name="Schedule", exact=True))
    said = re.compile(r"Version \d goes live on .* Europe/Berlin, by paula\.")
    expect(page.locator(".schedule-strip")).to_contain_text(said)
    assert person.count <= 4

    page.goto("")
    person = Clicks(page)
    expect(page.get_by_role("region", name="Your schedules")).to_contain_text(f"Timed {width}")
    person.click(page.get_by_role("link", name=re.compile("^Your schedules")))
    soon = page.get_by_role("region", name="In the next seven days")
    expect(soon).to_contain_text(f"Timed {width}: version 2 goes live")
    expect(soon).to_contain_text("Europe/Berlin")
    assert person.count == 1

    # An open edit page shows a hotfix, and the end.
    page.goto(f"versioning/{slug}/{resource_id}/change/")
    strip = page.locator(".schedule-strip")
    expect(strip).not_to_contain_text("will fail")
    kind.save(paula, resource_id, "mended", autoPublish=True)
    expect(strip).to_contain_text("As things stand it will fail")
    page.get_by_role("button", name="Cancel the schedule").click()
    expect(page.get_by_text("It is cancelled. What is live stays as it is.")).to_be_visible()
    expect(page.locator(".schedule-strip")).to_have_count(0)
