"""What was scheduled with an API key runs within the limits of that key, and ends with it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from capabilities.schedules.models import Schedule
from tests.conftest import Cast
from tests.releases.conftest import item, make
from tests.schedules.conftest import ahead, ask, live, run, scheduled
from tests.support.api import Kind
from tests.support.people import key_of
from versioning.domain.access import Action
from versioning.models import ApiKey, Membership


def prefix_of(schedule: dict[str, Any]) -> str:
    """Return the key of a schedule as stored."""
    return Schedule.objects.get(pk=schedule["id"]).key_prefix


def test_a_schedule_names_its_key(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    made = scheduled(key_of("paula", name="robot"), kind, draft)
    key = ApiKey.objects.get(name="robot")
    assert (made["createdBy"], made["createdByKey"]) == ("paula", key.prefix)
    assert cast.edgar.get(f"/schedules/{made['id']}").body["createdByKey"] == key.prefix


def test_what_a_revoked_key_scheduled_fails_at_once(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    robot = key_of("paula", workspace="acme", name="robot")
    begin = scheduled(robot, kind, draft, until=ahead(48), then={"versionId": first})
    other = scheduled(cast.paula, kind, draft, runAt=ahead(72), force=True)
    revoked = cast.alice.delete(f"/keys/{prefix_of(begin)}")
    assert revoked.status == 200, revoked.body
    assert {one["id"] for one in revoked.body["schedules"]} == {begin["id"], begin["pairedWith"]}
    assert {one["resource"]["id"] for one in revoked.body["schedules"]} == {"writer"}
    for schedule_id in (begin["id"], begin["pairedWith"]):
        found = cast.edgar.get(f"/schedules/{schedule_id}").body
        assert (found["state"], found["code"], found["problems"]) == ("failed", "not_allowed", [])
    assert live(cast.paula, kind) == first
    assert cast.edgar.get(f"/schedules/{other['id']}").body["state"] == "scheduled"
    failed = cast.edgar.get("/events", after=0, type="schedule.failed", limit=50).body["events"]
    assert [one["detail"]["code"] for one in failed] == ["not_allowed", "not_allowed"]


def test_a_limited_key_learns_only_of_what_it_reaches(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    """It may revoke a key of its owner that reaches less by now, and is not told what that had scheduled."""
    made = scheduled(key_of("alice", name="robot"), kind, draft)
    ApiKey.objects.filter(name="robot").update(id_prefix="team/a")
    answer = key_of("alice", id_prefix="team/").delete(f"/keys/{prefix_of(made)}")
    assert (answer.status, answer.body["schedules"]) == (200, [])
    assert cast.edgar.get(f"/schedules/{made['id']}").body["state"] == "failed"


def test_a_key_without_schedules_ends_none(cast: Cast) -> None:
    key_of("paula", name="robot")
    body = cast.paula.delete(f"/keys/{ApiKey.objects.get(name='robot').prefix}").body
    assert (body["success"], body["schedules"]) == (True, [])


def test_what_an_expired_key_scheduled_fails(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    soon = timezone.now() + datetime.timedelta(hours=1)
    made = scheduled(key_of("paula", expires_at=soon), kind, draft)
    assert made["problems"] == []
    ApiKey.objects.filter(prefix=prefix_of(made)).update(expires_at=timezone.now())
    [problem] = cast.edgar.get(f"/schedules/{made['id']}").body["problems"]
    assert (problem["code"], "expired" in problem["message"]) == ("not_allowed", True)
    done = run(made, cast.edgar)
    assert (done["state"], done["code"], live(cast.paula, kind)) == ("failed", "not_allowed", first)


@pytest.mark.parametrize(
    "limits",
    [
        {"id_prefix": "other"},
        {"workspace": "acme", "role": "editor"},
        {"actions": [Action.READ, Action.WRITE]},
    ],
)
def test_a_key_schedules_nothing_beyond_its_limits(
    cast: Cast, kind: Kind, first: str, draft: str, limits: dict[str, Any]
) -> None:
    assert ask(key_of("paula", **limits), kind, draft).status in {403, 404}
    assert Schedule.objects.count() == 0


def test_it_runs_with_the_role_that_is_left_to_its_key(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    """A key of one workspace may less than its owner, who becomes a superuser meanwhile."""
    made = scheduled(key_of("paula", workspace="acme"), kind, draft)
    Membership.objects.end(Membership.objects.get(user__username="paula", workspace="acme"))
    User.objects.filter(username="paula").update(is_superuser=True)
    ApiKey.objects.filter(prefix=prefix_of(made)).update(workspace="elsewhere")
    assert run(made, cast.alice)["code"] == "not_allowed"
    assert live(cast.alice, kind) == first


def test_who_changes_a_release_answers_for_it(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    robot = key_of("paula")
    release = make(robot, item(kind, "writer", draft))
    made = robot.post("/schedules", {"releaseId": release["id"], "runAt": ahead()}).body
    assert made["createdByKey"] == prefix_of(made) != ""
    changed = cast.alice.patch(f"/releases/{release['id']}", {"items": [item(kind, "writer", first)]})
    assert changed.status == 200, changed.body
    found = cast.edgar.get(f"/schedules/{made['id']}").body
    assert found["createdBy"] == "alice"
    assert found["createdByKey"] not in {None, made["createdByKey"]}
