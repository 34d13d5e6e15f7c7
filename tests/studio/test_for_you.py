"""What is for a person: at the top of the home page, in the notifications, and as numbers at the top."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from schedules.models import Schedule
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role
from tests.support.reviews import ask, reference, require_approvals, say
from tests.support.window import Window, page_of

HOME, BELL = "/studio/", "/studio/notifications/"
GROUPS = re.compile(r'<h3 id="for-you-(\w+)">')
LATER = (timezone.now() + datetime.timedelta(days=30)).replace(second=0, microsecond=0)


def groups(name: str, page: str = HOME) -> list[str]:
    """Return the groups of what is for a person, in their order."""
    return [key for key in GROUPS.findall(Window.of(name).get(page).markup) if key != "news"]


def group(name: str, key: str, page: str = HOME) -> str:
    """Return the text of a group; empty if there is none."""
    markup = Window.of(name).get(page).markup
    found = re.search(rf'<section[^>]*aria-labelledby="for-you-{key}".*?</section>', markup, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""


def numbers(name: str) -> dict[str, int]:
    """Return how much waits on the pages at the top, which every page shows."""
    bar = Window.of(name).get("/studio/name/").markup.split("</header>")[0]
    found = re.findall(r'<a href="/studio/(\w+)/[^"]*"[^>]*>\w+ <span class="tab-count">(\d+)<', bar)
    return {page: int(count) for page, count in found}


@pytest.fixture
def changed(cast: Cast, kind: Kind) -> dict[str, Any]:
    """The review of a draft of edgar's, in which alice has asked for changes."""
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind, message="Look, please", reviewers=["paula", "alice"])
    assert say(cast.alice, review, "requestChanges", body="Too long").status == 200
    return review


@pytest.mark.parametrize("page", [HOME, BELL])
def test_requested_changes_come_first_with_who_asked_and_why(
    cast: Cast, kind: Kind, changed: dict[str, Any], page: str
) -> None:
    assert groups("edgar", page) == ["returned", "drafts"]
    told = group("edgar", "returned", page)
    assert told.startswith("Changes requested of you · 1")
    assert "Changes requested Too long alice asked for changes to version 1 · just now" in told
    links = Window.of("edgar").get(page).links
    assert page_of(kind, "review", "writer", changed["id"]) in links and page_of(kind, "change") in links
    assert numbers("edgar") == {"reviews": 1}
    kind.save(cast.edgar, text="shorter")
    assert groups("edgar", page) == ["returned", "drafts"]
    assert "There is now a newer version." in group("edgar", "returned", page)
    cast.edgar.patch(f"/reviews/{changed['id']}", {"versionId": "latest"})
    cast.edgar.patch(f"/reviews/{changed['id']}", {"state": "closed"})
    assert groups("edgar", page) == ["drafts"] and numbers("edgar") == {}


def test_a_comment_waits_for_who_saved_the_newest_version_until_they_answer(cast: Cast, kind: Kind) -> None:
    version = kind.make(cast.edgar)["latestVersionId"]
    about = {"resource": reference(kind), "versionId": version}
    asked = cast.paula.post("/comments", {**about, "body": "Why so short?"}).body
    told = group("edgar", "comments", BELL)
    assert told.startswith("Comments for you · 1")
    assert "Why so short? paula commented on version 1 · just now" in told
    assert "paula commented on version 1" in Window.of("edgar").get(BELL).text
    for name in ("paula", "alice", "vera", "charlie"):  # who wrote it, who did nothing, who may not read it
        assert group(name, "comments", BELL) == ""
    cast.edgar.post("/comments", {**about, "body": "It is a draft.", "parent": asked["id"]})
    assert group("edgar", "comments", BELL) == ""
    assert "It is a draft. edgar commented on version 1" in group("paula", "comments", BELL)
    assert cast.paula.patch(f"/comments/{asked['id']}", {"resolved": True}).status == 200
    assert group("paula", "comments", BELL) == ""


def test_a_review_waits_for_those_who_were_asked(cast: Cast, kind: Kind, changed: dict[str, Any]) -> None:
    asked = group("paula", "asked", BELL)
    assert asked.startswith("Waiting for your review · 1")
    assert "Look, please edgar asked you to look at version 1 · just now" in asked
    assert numbers("paula") == {"reviews": 1}
    for name in ("alice", "vera", "charlie"):  # who has answered, and who may not read it
        assert "asked" not in groups(name, BELL) and numbers(name) == {}


def test_own_schedules_are_shown_with_what_threatens_them(cast: Cast, kind: Kind) -> None:
    version = kind.make(cast.paula)["latestVersionId"]
    about = {"kind": "agent" if kind is AGENTS else "promptBlock", "id": "writer"}
    made = cast.paula.post(
        "/schedules", {"resource": about, "versionId": version, "runAt": LATER.isoformat()}
    )
    assert made.status == 201, made.body
    told = group("paula", "schedules")
    assert told.startswith("Your schedules · 1") and "Scheduled version 1 goes live · " in told
    assert numbers("paula") == {}
    require_approvals(1)
    told = group("paula", "schedules")
    assert "Will fail Needs one more approval." in told and "Another time…" in told
    assert page_of(kind, "history") in Window.of("paula").get(HOME).links
    Schedule.objects.update(known_problems="review_required")  # as a worker notes it
    assert numbers("paula") == {"calendar": 1}
    for name in ("alice", "edgar", "vera", "charlie"):
        assert "schedules" not in groups(name) and numbers(name) == {}


def test_a_failure_is_shown_until_it_is_resolved(cast: Cast, kind: Kind) -> None:
    version = kind.make(cast.paula)["latestVersionId"]
    about = {"kind": "agent" if kind is AGENTS else "promptBlock", "id": "writer"}
    cast.paula.post("/schedules", {"resource": about, "versionId": version, "runAt": LATER.isoformat()})
    failed = Schedule.objects.get()
    failed.end("failed")
    assert "Failed" in group("paula", "schedules") and "Schedule again…" in group("paula", "schedules")
    assert numbers("paula") == {"calendar": 1}
    again = cast.paula.post(
        "/schedules", {"resource": about, "versionId": version, "runAt": LATER.isoformat()}
    )
    assert "Failed" not in group("paula", "schedules") and numbers("paula") == {}
    cast.paula.delete(f"/schedules/{again.body['id']}")
    Schedule.objects.exclude(pk=failed.pk).delete()
    kind.publish(cast.paula, "writer", version)
    assert group("paula", "schedules") == "" and numbers("paula") == {}


def test_own_open_releases_are_counted(cast: Cast) -> None:
    AGENTS.make(cast.edgar)
    items = [{"resource": {"kind": "agent", "id": "writer"}}]
    cast.edgar.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items})
    assert "Autumn Draft 1 resource, created by you · just now" in group("edgar", "releases")
    assert numbers("edgar") == {"releases": 1} and numbers("paula") == {}
    give_role("edgar", "acme", "viewer")
    assert "Autumn" not in Window.of("edgar").get(HOME).text and numbers("edgar") == {}


def test_what_others_did_is_below_and_a_stranger_sees_nothing_of_it(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, name="Secret")
    kind.save(cast.alice, text="two")
    assert "What others did alice saved" in Window.of("edgar").get(HOME).text
    for name in ("vera", "charlie"):
        seen = Window.of(name).get(HOME)
        assert groups(name) == [] and "Secret" not in seen.text
        assert "Nothing is waiting for you." in seen.text


def test_tasks_of_several_workspaces_say_of_which(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "ours")
    assert "Acme" not in group("edgar", "drafts")
    give_role("edgar", "elsewhere", "editor")
    kind.make(cast.edgar, "theirs", workspaceId="elsewhere")
    for page in (HOME, BELL):
        assert "just now · Elsewhere" in group("edgar", "drafts", page)
        assert "just now · Acme" in group("edgar", "drafts", page)


def test_a_group_shows_some_and_leads_to_all(cast: Cast, kind: Kind) -> None:
    for number in range(7):
        kind.make(cast.edgar, f"r{number}")
    drafts = group("edgar", "drafts")
    assert drafts.startswith("Your drafts · 7 All 7") and drafts.count("See what would change") == 5
    assert "/studio/waiting/?whose=mine" in Window.of("edgar").get(HOME).links


def test_people_are_called_by_their_names(cast: Cast, changed: dict[str, Any]) -> None:
    User.objects.filter(username="alice").update(first_name="Alice", last_name="Liddell")
    assert "Alice Liddell asked for changes to version 1" in group("edgar", "returned")
