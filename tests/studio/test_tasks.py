"""What is for a person: at the top of the home page, in the notifications, and as numbers at the top."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.schedules.models import Schedule
from studio import additions
from tests.conftest import Cast
from tests.schedules.conftest import ahead, scheduled
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role
from tests.support.reviews import ask, reference, require_approvals, say
from tests.support.studio import Visitor, page_of
from versioning.models import caller_for

HOME, BELL = "/studio/", "/studio/notifications/"
GROUPS = re.compile(r'<h3 id="for-you-(\w+)">')
LATER = ahead(30 * 24)


class Page:
    """What a person sees on a page with what is for them."""

    def __init__(self, name: str, address: str = HOME) -> None:
        seen = Visitor(name).get(address)
        self.markup, self.text, self.links = seen.markup, seen.text, seen.links
        self.groups = [key for key in GROUPS.findall(seen.markup) if key != "news"]

    def group(self, key: str) -> str:
        """Return the text of a group; empty if there is none."""
        section = rf'<section[^>]*aria-labelledby="for-you-{key}".*?</section>'
        found = re.search(section, self.markup, re.DOTALL)
        return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""

    @property
    def numbers(self) -> dict[str, int]:
        """How much waits on the pages at the top, which every page shows."""
        bar = self.markup.split("</header>")[0]
        found = re.findall(r'<a href="/studio/(\w+)/[^"]*"[^>]*>\w+ <span class="tab-count">(\d+)<', bar)
        return {page: int(count) for page, count in found}


def waiting(name: str) -> tuple[set[str], dict[str, int]]:
    """Return the groups that a person's pages show, and the numbers at their top, without opening a page."""
    caller = caller_for(User.objects.get(username=name))
    groups = {group.key for group in additions.tasks(caller) if group.tasks}
    return groups, {page.page: n for page in additions.main_pages() if (n := page.waiting(caller))}


@pytest.fixture
def changed(cast: Cast, kind: Kind) -> dict[str, Any]:
    """The review of a draft of edgar's, in which alice has asked for changes."""
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind, message="Look, please", reviewers=["paula", "alice"])
    assert say(cast.alice, review, "requestChanges", body="Too long").status == 200
    return review


def test_requested_changes_come_first_with_who_asked_and_why(
    cast: Cast, kind: Kind, changed: dict[str, Any]
) -> None:
    User.objects.filter(username="alice").update(first_name="Alice", last_name="Liddell")
    review = page_of(kind, "review", "writer", changed["id"])
    for page in (HOME, BELL):
        seen = Page("edgar", page)
        assert seen.groups == ["returned", "drafts"] and seen.numbers == {"reviews": 1}
        told = seen.group("returned")
        assert told.startswith("Changes requested of you · 1")
        assert "Changes requested Too long Alice Liddell asked for changes to version 1 · just now" in told
        assert {review, page_of(kind, "change")} <= set(seen.links)
    kind.save(cast.edgar, text="shorter")
    seen = Page("edgar")
    assert seen.groups == ["returned", "drafts"]
    assert "There is now a newer version." in seen.group("returned")
    cast.edgar.patch(f"/reviews/{changed['id']}", {"versionId": "latest"})
    cast.edgar.patch(f"/reviews/{changed['id']}", {"state": "closed"})
    assert waiting("edgar") == ({"drafts"}, {})


def test_a_comment_waits_for_who_saved_the_newest_version_until_they_answer(cast: Cast, kind: Kind) -> None:
    version = kind.make(cast.edgar)["latestVersionId"]
    about = {"resource": reference(kind), "versionId": version}
    asked = cast.paula.post("/comments", {**about, "body": "Why so short?"}).body
    seen = Page("edgar", BELL)
    told = seen.group("comments")
    assert told.startswith("Comments for you · 1")
    assert "Why so short? paula commented on version 1 · just now" in told
    assert seen.text.count("paula commented on version 1") == 2  # it is among the news as well
    for name in ("paula", "alice", "vera", "charlie"):  # who wrote it, who did nothing, who may not read it
        assert "comments" not in waiting(name)[0]
    cast.edgar.post("/comments", {**about, "body": "It is a draft.", "parent": asked["id"]})
    assert "comments" not in waiting("edgar")[0]
    assert "It is a draft. edgar commented on version 1" in Page("paula", BELL).group("comments")
    assert cast.paula.patch(f"/comments/{asked['id']}", {"resolved": True}).status == 200
    assert "comments" not in waiting("paula")[0]


def test_a_review_waits_for_those_who_were_asked(cast: Cast, kind: Kind, changed: dict[str, Any]) -> None:
    seen = Page("paula", BELL)
    asked = seen.group("asked")
    assert asked.startswith("Waiting for your review · 1") and seen.numbers == {"reviews": 1}
    assert "Look, please edgar asked you to look at version 1 · just now" in asked
    for name in ("alice", "vera", "charlie"):  # who has answered, and who may not read it
        groups, numbers = waiting(name)
        assert "asked" not in groups and numbers == {}


def test_own_schedules_are_shown_with_what_threatens_them_and_failures_until_resolved(
    cast: Cast, kind: Kind
) -> None:
    version = kind.make(cast.paula)["latestVersionId"]
    first = scheduled(cast.paula, kind, version, runAt=LATER)
    seen = Page("paula")
    told = seen.group("schedules")
    assert told.startswith("Your schedules · 1") and "Scheduled version 1 goes live · " in told
    assert seen.numbers == {}
    require_approvals(1)
    Schedule.objects.update(known_problems="review_required")  # as a worker notes it
    seen = Page("paula")
    told = seen.group("schedules")
    assert "Will fail Needs one more approval." in told and "Reschedule…" in told
    assert page_of(kind, "history") in seen.links and seen.numbers == {"calendar": 1}
    for name in ("alice", "edgar", "vera", "charlie"):
        groups, numbers = waiting(name)
        assert "schedules" not in groups and numbers == {}
    require_approvals(0)
    Schedule.objects.get().end("failed")
    seen = Page("paula")
    assert "Failed" in seen.group("schedules") and "Schedule again…" in seen.group("schedules")
    assert seen.numbers == {"calendar": 1}
    again = scheduled(cast.paula, kind, version, runAt=LATER)
    seen = Page("paula")
    assert "Failed" not in seen.group("schedules") and seen.numbers == {}
    cast.paula.delete(f"/schedules/{again['id']}")
    Schedule.objects.exclude(pk=first["id"]).delete()
    kind.publish(cast.paula, "writer", version)
    assert waiting("paula") == (set(), {})


def test_own_open_releases_are_counted(cast: Cast) -> None:
    AGENTS.make(cast.edgar)
    items = [{"resource": {"kind": "agent", "id": "writer"}}]
    cast.edgar.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items})
    seen = Page("edgar")
    assert "Autumn Draft 1 item, created by you · just now" in seen.group("releases")
    assert seen.numbers == Page("edgar", "/studio/name/").numbers == {"releases": 1}
    assert waiting("paula") == (set(), {})
    give_role("edgar", "acme", "viewer")
    assert waiting("edgar") == (set(), {})


def test_what_others_did_is_below_and_a_stranger_sees_nothing_of_it(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, name="Secret")
    kind.save(cast.alice, text="two")
    assert "What others did alice saved" in Page("edgar").text
    for name in ("vera", "charlie"):
        seen = Page(name)
        assert seen.groups == [] and "Secret" not in seen.text
        assert "Nothing is waiting for you." in seen.text


def test_tasks_of_several_workspaces_say_of_which(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "ours")
    assert "Acme" not in Page("edgar").group("drafts")
    give_role("edgar", "elsewhere", "editor")
    kind.make(cast.edgar, "theirs", workspaceId="elsewhere")
    for page in (HOME, BELL):
        told = Page("edgar", page).group("drafts")
        assert "just now · Elsewhere" in told and "just now · Acme" in told


def test_a_group_shows_some_and_leads_to_all(cast: Cast, kind: Kind) -> None:
    for number in range(7):
        kind.make(cast.edgar, f"r{number}")
    seen = Page("edgar")
    drafts = seen.group("drafts")
    assert drafts.startswith("Your drafts · 7 All 7") and drafts.count("View changes") == 5
    assert "/studio/waiting/?whose=mine" in seen.links
