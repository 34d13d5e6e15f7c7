"""The pages about schedules: the form, the strip, the calendar, and rights."""

from __future__ import annotations

import datetime
from calendar import monthrange
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from capabilities.schedules.models import Schedule
from capabilities.schedules.studio.calendar import Day
from capabilities.schedules.studio.pages import presets
from tests.conftest import Cast
from tests.schedules.conftest import HOUR, ahead, run, scheduled
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.reviews import reference, require_approvals
from tests.support.studio import PageResponse, Visitor, page_of, workspace_page
from versioning.models import WorkerHeartbeat

CALENDAR = workspace_page("calendar")
ZONE = "Europe/Berlin"


def local(hours: float = 24) -> str:
    """Return a local time in UTC, as a browser sends it."""
    return ahead(hours)[:16]


def send(window: Visitor, kind: Kind, version: str, live_now: str, **typed: str) -> PageResponse:
    """Send the form that schedules a version."""
    given = {"version": version, "live": live_now, "local_time": local(), "time_zone": "UTC", **typed}
    return window.post(page_of(kind, "schedule"), **given)


def test_a_version_is_scheduled_and_the_pages_show_it(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    paula = Visitor("paula", zone=ZONE)
    for page in (
        page_of(kind, "publish"),
        page_of(kind, "history"),
        page_of(kind, "version", "writer", draft),
    ):
        assert f"{page_of(kind, 'schedule')}?version={draft}" in paula.get(page).markup
    form = paula.get(page_of(kind, "schedule"), version=draft)
    assert "Version 1 is now live." in form.text and f'value="{ZONE}"' in form.markup
    sent = send(paula, kind, draft, first, local_time="2027-12-24T09:00", time_zone=ZONE)
    assert sent.headers["Location"] == page_of(kind, "history")
    said = "Version 2 goes live on Fri 24 December 2027 at 09:00 Europe/Berlin , by you"
    for page in ("history", "change", "publish", "schedule"):
        seen = paula.get(page_of(kind, page))
        assert said in seen.text
    assert f'name="time_zone"  value="{ZONE}"' in seen.markup  # the form begins with the zone of the page
    made = Schedule.objects.get()
    assert (made.expects, made.version_id) == ({made.reference: first}, draft)


def test_an_ambiguous_or_nonexistent_time_is_reported(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    paula = Visitor("paula")
    refused = send(paula, kind, draft, first, local_time="2027-03-28T02:30", time_zone=ZONE)
    assert refused.status == 400 and "Does not exist in Europe/Berlin" in refused.text
    assert 'value="2027-03-28T02:30"' in refused.markup
    assert send(paula, kind, draft, first, time_zone="Mars/Base").status == 400
    assert send(paula, kind, draft, first, local_time="2020-01-01T00:00").status == 400
    assert not Schedule.objects.exists()
    send(paula, kind, draft, first, local_time="2027-10-31T02:30", time_zone=ZONE)
    assert "02:30 exists twice that night" in paula.get(page_of(kind, "history")).text


def test_until_makes_a_pair_and_later_schedules_expect_its_versions(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    paula = Visitor("paula")
    send(paula, kind, draft, first, until=local(48), then=first)
    begin, end = Schedule.objects.order_by("run_at")
    assert (end.follows, end.version_id) == (begin, first)
    # A schedule between the two expects the version that is live by then, and makes the end fail.
    newest = kind.save(cast.edgar, text="three")["latestVersionId"]
    send(paula, kind, newest, first, local_time=local(36))
    between = Schedule.objects.exclude(pk__in=[begin.pk, end.pk]).get()
    assert between.expected_version_id == draft
    shown = paula.get(page_of(kind, "history")).text
    assert shown.count("As things stand it will fail") == 1


def test_a_version_that_is_live_by_then_is_not_scheduled(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    paula = Visitor("paula")
    refused = send(paula, kind, first, first)
    assert refused.status == 400 and "This version is live at that time already." in refused.text
    send(paula, kind, draft, first, local_time=local(24))
    assert send(paula, kind, draft, first, local_time=local(48)).status == 400
    # Something else is live by then.
    assert send(paula, kind, first, first, local_time=local(48)).status == 302


def test_scheduling_what_lacks_approvals_is_no_plain_success(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    require_approvals(1)
    paula = Visitor("paula")
    send(paula, kind, draft, first)
    told = paula.get(page_of(kind, "history")).markup.partition('class="messages"')[2].partition("</div>")[0]
    assert 'notice-warning"' in told and "As things stand it will fail." in told
    assert f'href="{page_of(kind, "review_ask")}?version={draft}">Ask for review</a>' in told


def test_a_form_with_an_outdated_live_version_is_shown_again(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    kind.publish(cast.paula, "writer", kind.save(cast.paula, text="mended")["latestVersionId"])
    answer = send(Visitor("paula"), kind, draft, first)
    assert answer.status == 409 and "Something else went live" in answer.text
    assert not Schedule.objects.exists()


def test_a_hotfix_is_shown_as_a_warning_and_a_failure_with_its_reason(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft)
    paula, page = Visitor("paula"), page_of(kind, "change")
    assert "will fail" not in paula.get(page).text
    kind.publish(cast.paula, "writer", kind.save(cast.paula, text="mended")["latestVersionId"])
    assert "As things stand it will fail" in paula.get(page).text
    assert "As things stand it will fail" in paula.get(page_of(kind, "since"), after="0").text
    run(made, cast.paula)
    shown = paula.get(page).text
    assert "Version 2 did not go live" in shown
    assert "Something else has gone live since this was scheduled." in shown
    # Only its author finds it on the home page.
    homes = [Visitor(name).get("/studio/").text for name in ("paula", "edgar")]
    assert ["was to go live" in home for home in homes] == [True, False]
    kind.publish(cast.paula, "writer", draft)
    assert "did not go live" not in paula.get(page).text


def test_a_schedule_is_moved_and_cancelled(cast: Cast, kind: Kind, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft, localTime="2027-12-24T09:00", timeZone=ZONE)
    paula, address = Visitor("paula"), workspace_page(f"schedules/{made['id']}")
    back = page_of(kind, "history")
    form = paula.get(address, next=back)
    assert 'value="2027-12-24T09:00"' in form.markup and f'value="{back}"' in form.markup
    wrong = paula.post(address, local_time="2020-01-01T00:00", time_zone=ZONE, next=back)
    assert wrong.status == 400 and "Choose a later time." in wrong.text
    sent = paula.post(address, local_time="2027-12-25T10:00", time_zone="Asia/Tokyo", next=back)
    assert sent.headers["Location"] == back
    assert "Sat 25 December 2027 at 01:00 UTC (10:00 Asia/Tokyo)" in paula.get(back).text
    assert "Sat 25 December 2027 at 10:00 Asia/Tokyo ," in Visitor("paula", zone="Asia/Tokyo").get(back).text
    there = Visitor("paula", zone="America/New_York").get(back).text
    assert (
        "Fri 24 December 2027 at 20:00 America/New_York (Sat 25 December 2027 at 10:00 Asia/Tokyo)" in there
    )
    assert paula.post(f"{address}cancel/", next="https://elsewhere.example/").headers["Location"] == CALENDAR
    assert Schedule.objects.get().state == "cancelled"
    for late in (paula.get(address), paula.post(f"{address}cancel/")):
        assert late.headers["Location"] == CALENDAR
    assert "It is too late: this schedule is already cancelled." in paula.get(CALENDAR).text


def test_editors_read_schedules_and_are_offered_none(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    address, form = workspace_page(f"schedules/{made['id']}"), page_of(kind, "schedule")
    edgar = Visitor("edgar")
    found = (
        edgar.get(form),
        send(edgar, kind, draft, first),
        edgar.get(address),
        edgar.post(f"{address}cancel/"),
        edgar.get(CALENDAR),
    )
    assert [page.status for page in found] == [403, 403, 403, 403, 200]
    # Nor by the workspace of a person.
    assert Visitor("charlie").get(workspace_page(f"schedules/{made['id']}", "elsewhere")).status == 404
    edgar, vera = Visitor("edgar").get(page_of(kind, "history")), Visitor("vera")
    assert "goes live on" in edgar.text and "Cancel the schedule" not in edgar.text
    assert form not in edgar.markup and "/studio/calendar/" in edgar.links
    seen = vera.get(page_of(kind, "change"))
    assert "goes live on" not in seen.text and "/studio/calendar/" not in seen.links
    assert vera.get("/studio/calendar/").status == 403
    assert Schedule.objects.get().state == "scheduled"


def last_day(view: str) -> datetime.date:
    """Return the last day that a view of the current month shows: a grid shows whole weeks."""
    today = timezone.now().date()
    last = today.replace(day=monthrange(today.year, today.month)[1])
    return last + datetime.timedelta(days=6 - last.weekday()) if view == "month" else last


def test_the_calendar_shows_planned_and_past_events(cast: Cast, kind: Kind, draft: str) -> None:
    scheduled(cast.paula, kind, draft, runAt=ahead(30))
    done = run(scheduled(cast.paula, kind, draft, force=True), cast.paula)
    edgar = Visitor("edgar")
    month = f"{timezone.now():%Y-%m}"
    for view in ("month", "list"):
        seen = edgar.get(CALENDAR, month=month, view=view).text
        soon, _head, shown = seen.partition("Earlier")
        assert "version 2 goes live" in soon and "paula" in soon
        assert "version 1 went live" in shown
        events = shown.replace("By then, version 2 is already live", "").count("version 2")
        assert events == (2 if (timezone.now() + 30 * HOUR).date() <= last_day(view) else 1)
    assert done["state"] == "done"
    assert edgar.get(CALENDAR, month="2026-13").status == 200


def test_the_grid_shows_fewer_entries_of_days_that_are_over() -> None:
    entries: list[Any] = ["entry"] * 6
    for is_past, shown, others in ((False, 5, 1), (True, 2, 4)):
        day = Day(date=datetime.date(2026, 5, 4), entries=entries, is_past=is_past)
        assert (len(day.first_entries), day.others) == (shown, others)


def test_the_days_of_the_calendar_are_those_of_the_zone_of_the_page(
    cast: Cast, kind: Kind, draft: str
) -> None:
    scheduled(cast.paula, kind, draft, localTime="2027-12-31T20:00", timeZone="UTC")
    for zone, month, words in (
        ("UTC", "2027-12", "Friday, 31 December 2027 20:00 Writer"),
        ("Asia/Tokyo", "2028-01", "Saturday, 1 January 2028 05:00 (Fri 31 December 2027 at 20:00 UTC)"),
    ):
        seen = Visitor("edgar", zone=zone).get(CALENDAR, month=month, view="list").text
        assert f"Times in {zone} ·" in seen and words in seen


def test_the_pages_of_items_show_a_scheduled_release(cast: Cast) -> None:
    drafts = {kind: kind.make(cast.paula)["latestVersionId"] for kind in (AGENTS, PROMPT_BLOCKS)}
    items = [{"resource": reference(kind), "versionId": drafts[kind]} for kind in drafts]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    paula, form = Visitor("paula", zone=ZONE), workspace_page(f"releases/{release['id']}/schedule")
    assert "Schedule the release “Autumn”" in paula.get(form).text
    sent = paula.post(form, local_time="2027-12-24T09:00", time_zone=ZONE)
    page = workspace_page(f"releases/{release['id']}")
    assert sent.headers["Location"] == page
    said = "Scheduled for Fri 24 December 2027 at 09:00 Europe/Berlin , by you"
    shown = paula.get(page)
    assert said in shown.text and form not in shown.markup and "Cancel the schedule" in shown.text
    shown, in_utc = (
        Visitor("edgar").get(page),
        said.replace("09:00 Europe/Berlin , by you", "08:00 UTC (09:00 Europe/Berlin) , by paula"),
    )
    assert in_utc in shown.text and form not in shown.markup and "Cancel the schedule" not in shown.text
    calendar = paula.get(CALENDAR, month="2027-12")
    assert f'href="{page}"' in calendar.markup
    assert "Release “Autumn” : goes live together" in calendar.text
    assert "You scheduled the release Autumn" in paula.get(workspace_page("activity")).text
    for kind in drafts:
        shown = paula.get(page_of(kind, "history")).text
        assert "part of the release “Autumn”, which goes live on Fri 24 December 2027 at 09:00" in shown
    assert [Visitor(name).get(form).status for name in ("edgar", "charlie")] == [403, 404]
    assert paula.get(workspace_page(f"releases/{drafts[AGENTS]}/schedule")).status == 404


def test_pages_say_since_when_no_worker_runs(cast: Cast, kind: Kind, draft: str) -> None:
    scheduled(cast.paula, kind, draft)
    paula = Visitor("paula")
    pages = (page_of(kind, "history"), page_of(kind, "schedule"), CALENDAR)
    assert all("No worker has run yet." in paula.get(page).text for page in pages)
    WorkerHeartbeat.objects.beat("a worker")
    assert "No worker" not in paula.get(CALENDAR).text
    WorkerHeartbeat.objects.update(seen_at=timezone.now() - datetime.timedelta(minutes=5))
    assert "No worker has run since 5 minutes ago" in paula.get(CALENDAR).text


def test_schedules_appear_in_the_activity(cast: Cast, kind: Kind, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    cast.paula.patch(f"/schedules/{made['id']}", {"runAt": ahead(30)})
    run(made, cast.paula)
    cast.paula.delete(f"/schedules/{scheduled(cast.paula, kind, draft)['id']}")
    run(scheduled(cast.paula, kind, draft), cast.paula, 7 * 24 * HOUR)
    seen = Visitor("edgar").get(page_of(kind, "activity"))
    for words in (
        "paula scheduled version 2",
        "paula chose another time for version 2",
        "version 2 went live as paula had scheduled",
        "paula cancelled the schedule of version 2",
        "version 2 did not go live, although paula had scheduled it: no worker was running",
    ):
        assert words in seen.text, words
    assert f'href="{CALENDAR}"' in seen.markup


def queries(window: Visitor, address: str, **query: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert window.get(address, **query).status == 200
    return len(captured)


def test_the_number_of_queries_does_not_depend_on_the_number_of_schedules(
    cast: Cast, kind: Kind, draft: str
) -> None:
    other = AGENTS if kind is PROMPT_BLOCKS else PROMPT_BLOCKS
    version = other.make(cast.paula, "other")["latestVersionId"]
    WorkerHeartbeat.objects.beat("a worker")
    paula = Visitor("paula")
    pages: list[tuple[str, dict[str, str]]] = [
        (CALENDAR, {}),
        (page_of(kind, "history"), {}),
        (page_of(kind, "schedule"), {}),
        ("/studio/", {}),
    ]

    def add() -> None:
        scheduled(cast.paula, kind, draft)
        cast.paula.post(
            "/schedules", {"resource": reference(other, "other"), "versionId": version, "runAt": ahead()}
        )

    def counted() -> list[int]:
        return [queries(paula, page, **query) for page, query in pages]

    add()
    paula.get(page_of(kind, "history"))  # the first time it is remembered that they opened it
    before = counted()
    for _ in range(2):
        add()
    assert counted() == before


@pytest.mark.parametrize(
    ("today", "names"),
    [
        ("2026-11-24", {"Tomorrow 9:00": "2026-11-25T09:00", "Monday 9:00": "2026-11-30T09:00"}),
        ("2026-11-29", {"Monday 9:00": "2026-11-30T09:00"}),
        ("2026-11-30", {"Tomorrow 9:00": "2026-12-01T09:00", "Monday 9:00": "2026-12-07T09:00"}),
    ],
)
def test_tomorrow_and_monday_morning_are_offered(today: str, names: dict[str, str]) -> None:
    found = presets(datetime.date.fromisoformat(today))
    assert {one.name: one.local_time for one in found} == names


def test_every_form_for_a_time_offers_mornings_in_its_zone(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft, localTime="2027-12-24T09:00", timeZone="Pacific/Kiritimati")
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn"}).body
    for address, zone in (
        (page_of(kind, "schedule"), ZONE),
        (workspace_page(f"releases/{release['id']}/schedule"), ZONE),
        (workspace_page(f"schedules/{made['id']}"), "Pacific/Kiritimati"),  # 14 hours ahead of UTC
    ):
        tomorrow = datetime.datetime.now(ZoneInfo(zone)).date() + datetime.timedelta(days=1)
        seen = Visitor("paula", zone=ZONE).get(address)
        assert f'value="{tomorrow}T09:00"' in seen.markup, address
    assert Visitor("paula").get(page_of(kind, "schedule"), time_zone="Mars/Base").status == 200


def test_every_mention_of_a_schedule_shows_its_problems(cast: Cast, kind: Kind, draft: str) -> None:
    require_approvals(1)
    paula = Visitor("paula")
    form = paula.get(page_of(kind, "schedule"), version=draft)
    assert "If it ran now, it would fail. Needs one more approval." in form.text
    history = send(paula, kind, draft, form.field("live")).headers["Location"]
    assert 'class="notice notice-warning"><p><a' in paula.get(history).markup
    made = cast.paula.get("/schedules").body["schedules"][0]
    said = "Needs one more approval."
    asks = f'href="{page_of(kind, "review_ask")}?version={draft}"'
    pages = [page_of(kind, page) for page in ("history", "change", "publish", "schedule")]
    pages += [page_of(kind, "version", "writer", draft), CALENDAR, "/studio/"]
    pages += [workspace_page(f"schedules/{made['id']}")]
    for page in pages:
        seen = paula.get(page)
        chip = page in {CALENDAR, "/studio/"}
        assert (f"Will fail {said}" if chip else f"will fail. {said}") in seen.text, page
        assert asks in seen.markup, page
    review = cast.edgar.post("/reviews", {"resource": reference(kind), "versionId": draft}).body
    address = page_of(kind, "review", "writer", review["id"])
    for page in (page_of(kind, "history"), CALENDAR, address):
        seen = paula.get(page)
        assert said in seen.text and f'href="{address}"' in seen.markup, page
    cast.alice.post(f"/reviews/{review['id']}/verdicts", {"versionId": draft, "verdict": "approve"})
    for page in (page_of(kind, "history"), CALENDAR, address):
        assert "will fail" not in paula.get(page).text.lower(), page


def test_a_scheduled_release_shows_the_problems_of_each_item(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.paula, "tone", name="Tone")
    AGENTS.make(cast.paula, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    items = [{"resource": reference(AGENTS)}]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    made = cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": ahead(), "force": True}).body
    page = workspace_page(f"releases/{release['id']}")
    said = "Writer : The prompt block Tone is not published."
    for where in (page, page_of(AGENTS, "history"), CALENDAR, "/studio/"):
        seen = Visitor("paula").get(where)
        assert said in seen.text and f'href="{page}"' in seen.markup, where
    run(made, cast.paula)
    shown = Visitor("paula").get(page)
    assert "It did not go live on" in shown.text
    assert f'href="{page}schedule/?force=on"' in shown.markup
    assert "Schedule again" not in Visitor("edgar").get(page).text


@pytest.mark.parametrize("late", [0, 7 * 24])
def test_a_failed_or_missed_schedule_can_be_repeated_with_the_same_values(
    cast: Cast, kind: Kind, draft: str, late: int
) -> None:
    made = scheduled(cast.paula, kind, draft, force=True, localTime="2027-12-24T09:00", timeZone="Asia/Tokyo")
    require_approvals(1)
    run(made, cast.paula, late * HOUR)
    paula = Visitor("paula")
    again = f"{page_of(kind, 'schedule')}?version={draft}&amp;time_zone=Asia%2FTokyo&amp;force=on"
    month = f"{timezone.now() - late * HOUR:%Y-%m}"
    for page, query in ((page_of(kind, "history"), {}), (CALENDAR, {"month": month}), ("/studio/", {})):
        seen = paula.get(page, **query)
        assert "Schedule again…" in seen.text and f'href="{again}"' in seen.markup, page
    form = paula.get(page_of(kind, "schedule"), version=draft, time_zone="Asia/Tokyo", force="on").markup
    assert 'value="Asia/Tokyo"' in form and 'name="force" checked' in form
    assert "Schedule again" not in Visitor("edgar").get(page_of(kind, "history")).text


def test_a_schedule_of_what_went_live_meanwhile_says_that_it_can_be_cancelled(
    cast: Cast, kind: Kind, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft)
    paula, page = Visitor("paula"), page_of(kind, "history")
    before = paula.get(page_of(kind, "publish"), version=draft).text
    assert "If you publish now, this schedule fails." in before
    kind.publish(cast.paula, "writer", draft)
    for shown in (paula.get(page), paula.get(CALENDAR, month=made["runAt"][:7])):
        assert "By then, version 2 is already live. You can cancel the schedule." in shown.text
        assert "earlier version again" not in shown.text
    paula.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    german = paula.get(page).text
    assert "Version 2 ist dann schon live. Sie können den Termin absagen." in german
    assert " Uhr (UTC)" in german
    del paula.client.defaults["HTTP_ACCEPT_LANGUAGE"]
    unpublished = scheduled(cast.paula, kind, None, action="unpublish", runAt=ahead(48), expects=draft)
    assert unpublished["state"] == "scheduled"
    cast.paula.delete(f"/schedules/{made['id']}")
    cast.paula.post(kind.url("writer", "unpublish"))
    assert "By then, nothing is live any more. You can cancel the schedule." in paula.get(page).text


def test_a_release_warns_of_the_schedules_of_its_items(cast: Cast, kind: Kind, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    items = [{"resource": reference(kind), "versionId": draft}]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    page = workspace_page(f"releases/{release['id']}")
    shown = Visitor("paula").get(page)
    assert "Version 2 goes live on" in shown.text and "Schedule…" in shown.text
    assert "If this release goes live first, this schedule fails." in shown.text
    assert "Cancel the schedule" in shown.text
    assert "Cancel the schedule" not in Visitor("edgar").get(page).text
    cast.paula.delete(f"/schedules/{made['id']}")
    assert "this schedule fails" not in Visitor("paula").get(page).text
