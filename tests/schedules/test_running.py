"""Running schedules that are due."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone

from capabilities.schedules import running
from capabilities.schedules.models import Schedule, ScheduleState
from capabilities.schedules.running import follow_time_zones
from tests.conftest import Cast
from tests.schedules.conftest import HOUR, ahead, ask, live, pass_time, run, run_due, scheduled
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.people import give_role
from tests.support.reviews import reference, require_approvals
from tests.support.studio import KINDS, Visitor, workspace_page
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import Event, Membership, Workspace, caller_for


def events_of(cast: Cast) -> list[tuple[str, str | None, str]]:
    """Return the newest events, newest first: type, actor and interface."""
    found = cast.alice.get("/events", before=10**9, limit=4).body["events"]
    return [(one["type"], one["actor"]["id"], one["actor"]["via"]) for one in found]


def test_a_schedule_goes_live_at_its_time_and_once(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    run_due()
    assert (live(cast.paula, kind), made["state"], made["expects"]) == (first, "scheduled", first)
    done = run(made, cast.edgar)
    assert (live(cast.paula, kind), done["state"], done["code"]) == (draft, "done", None)
    assert done["executedAt"] is not None
    slug = reference(kind)["kind"]
    assert events_of(cast)[:2] == [
        ("schedule.done", "paula", "schedule"),
        (f"{slug}.published", "paula", "schedule"),
    ]
    kind.publish(cast.paula, "writer", first)
    run_due()
    assert live(cast.paula, kind) == first


def test_unpublishing_can_be_scheduled(cast: Cast, kind: Kind, first: str) -> None:
    done = run(scheduled(cast.paula, kind, None, action="unpublish"), cast.paula)
    assert (done["state"], done["versionId"]) == ("done", None)
    assert cast.paula.get(kind.url("writer")).code == "unpublished"


def test_a_pair_is_live_between_its_two_times(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    begin = scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": first})
    end = cast.edgar.get(f"/schedules/{begin['pairedWith']}").body
    assert (end["pairedWith"], end["expects"], end["versionId"]) == (begin["id"], draft, first)
    assert begin["then"] == {"versionId": first}
    assert run(begin, cast.paula)["state"] == "done"
    assert live(cast.paula, kind) == draft
    assert run(end, cast.paula)["state"] == "done"
    assert live(cast.paula, kind) == first


def test_the_end_of_a_pair_does_not_undo_a_hotfix(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    begin = scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": first})
    end = cast.edgar.get(f"/schedules/{begin['pairedWith']}").body
    run(begin, cast.paula)
    hotfix = kind.save(cast.paula, text="mended", autoPublish=True)["activeVersionId"]
    ended = run(end, cast.paula)
    assert (ended["state"], ended["code"], live(cast.paula, kind)) == ("failed", "edit_conflict", hotfix)


def test_cancelling_the_beginning_of_a_pair_cancels_the_end(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    begin = scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": first})
    assert cast.paula.delete(f"/schedules/{begin['id']}").body["state"] == "cancelled"
    page = cast.paula.get("/schedules").body
    assert [one["state"] for one in page["schedules"]] == ["cancelled", "cancelled"]
    run(begin, cast.paula)
    assert live(cast.paula, kind) == first
    assert cast.paula.delete(f"/schedules/{begin['id']}").code == "schedule_ended"
    assert cast.paula.patch(f"/schedules/{begin['id']}", {"runAt": ahead(2)}).code == "schedule_ended"


@pytest.mark.parametrize("force", [False, True])
def test_a_hotfix_made_meanwhile_is_overwritten_only_with_force(
    cast: Cast, kind: Kind, draft: str, *, force: bool
) -> None:
    made = scheduled(cast.paula, kind, draft, force=force)
    hotfix = kind.save(cast.paula, text="mended", autoPublish=True)["activeVersionId"]
    done = run(made, cast.paula)
    expected = ("done", None, draft) if force else ("failed", "edit_conflict", hotfix)
    assert (done["state"], done["code"], live(cast.paula, kind)) == expected
    assert done["error"] is None if force else "gone live" in done["error"]


def test_a_schedule_runs_an_hour_late_and_is_missed_a_week_late(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    missed = run(scheduled(cast.paula, kind, draft), cast.paula, 7 * 24 * HOUR)
    assert (missed["state"], missed["code"], live(cast.paula, kind)) == ("missed", "missed", first)
    assert events_of(cast)[0] == ("schedule.failed", "paula", "schedule")
    assert run(scheduled(cast.paula, kind, draft), cast.paula, HOUR)["state"] == "done"
    assert live(cast.paula, kind) == draft


def test_schedules_of_authors_who_lost_the_right_to_publish_fail(
    cast: Cast, kind: Kind, first: str, draft: str
) -> None:
    demoted, left, off = (scheduled(cast.paula, kind, draft) for _ in range(3))
    paula, acme = User.objects.get(username="paula"), Workspace.objects.get(pk="acme")
    give_role("paula", "acme", "editor")
    codes = [run(demoted, cast.alice)["code"]]
    Membership.objects.end(Membership.objects.get(user=paula, workspace=acme))
    codes.append(run(left, cast.alice)["code"])
    Membership.objects.grant(paula, acme, Role.PUBLISHER)
    User.objects.filter(pk=paula.pk).update(is_active=False)
    codes.append(run(off, cast.alice)["code"])
    assert (codes, live(cast.alice, kind)) == (["not_allowed"] * 3, first)


def test_the_policy_at_the_time_of_running_counts(cast: Cast, kind: Kind, first: str, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    require_approvals(1)
    refused = run(made, cast.paula)
    assert (refused["state"], refused["code"], live(cast.paula, kind)) == ("failed", "review_required", first)
    made = scheduled(cast.paula, kind, draft)  # before any approval
    review = cast.edgar.post("/reviews", {"resource": reference(kind), "versionId": draft}).body
    verdict = {"versionId": draft, "verdict": "approve"}
    assert cast.paula.post(f"/reviews/{review['id']}/verdicts", verdict).status == 200
    assert run(made, cast.paula)["state"] == "done"
    assert live(cast.paula, kind) == draft


def test_a_block_unpublished_meanwhile_makes_the_schedule_of_its_agent_fail(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.paula, "tone", autoPublish=True)
    agent = AGENTS.make(cast.paula, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    made = scheduled(cast.paula, AGENTS, agent["latestVersionId"])
    cast.paula.post(PROMPT_BLOCKS.url("tone", "unpublish"))
    assert run(made, cast.paula)["code"] == "unpublished_blocks"


def test_deleting_a_resource_ends_its_schedules_even_if_the_id_is_reused(
    cast: Cast, kind: Kind, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft)
    assert cast.paula.delete(kind.url("writer")).status == 200
    gone = cast.paula.get(f"/schedules/{made['id']}").body
    assert (gone["state"], gone["code"]) == ("failed", "gone")
    kind.make(cast.paula)
    pass_time(made)
    run_due()
    assert live(cast.paula, kind) is None


def test_a_scheduled_version_is_retained(
    cast: Cast, kind: Kind, first: str, draft: str, settings: Any
) -> None:
    made = scheduled(cast.paula, kind, draft)
    settings.EDITOR_KEEP_VERSIONS = 1
    kind.save(cast.edgar, text="three")
    refused = cast.paula.delete(kind.url("writer", "versions", draft))
    assert (refused.status, refused.code, "scheduled" in str(refused.body)) == (400, "version_in_use", True)
    cast.paula.delete(f"/schedules/{made['id']}")
    kind.save(cast.edgar, text="four")
    assert cast.paula.get(kind.url("writer", "versions", draft)).status == 404


@pytest.mark.parametrize("fault", [OSError("no space left on device"), OperationalError("timeout")])
def test_a_fault_delays_one_schedule_and_no_other(
    cast: Cast, kind: Kind, draft: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """An error of the database may affect one schedule, too: a held lock, a slow statement."""
    bad = scheduled(cast.paula, kind, draft)
    other = kind.make(cast.paula, "other")["latestVersionId"]
    good = scheduled(cast.paula, kind, other, resource_id="other")
    whole = running.run

    def broken(schedule: Schedule) -> None:
        if str(schedule.pk) == bad["id"]:
            raise fault
        whole(schedule)

    monkeypatch.setattr(running, "run", broken)
    for one in (bad, good):
        pass_time(one)
    with suppress(OperationalError):  # then a worker rests
        run_due()
    run_due()
    states = [cast.paula.get(f"/schedules/{one['id']}").body["state"] for one in (bad, good)]
    assert states == ["scheduled", "done"]
    assert not Schedule.objects.due().exists()


def test_a_schedule_moved_during_a_fault_waits_for_its_new_time(
    cast: Cast, kind: Kind, first: str, draft: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scheduled(cast.paula, kind, draft)
    pass_time(made)
    with monkeypatch.context() as faulty:

        def moved(_schedule: Schedule) -> None:
            assert cast.paula.patch(f"/schedules/{made['id']}", {"runAt": ahead(48)}).status == 200
            raise OSError("no space left on device")

        faulty.setattr(running, "run", moved)
        run_due()
    due = Schedule.objects.get().due_at
    assert due is not None and due > timezone.now() + HOUR
    assert live(cast.paula, kind) == first


def test_workspaces_take_turns_and_single_versions_run_before_releases(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = [("acme", None)] * 3 + [("acme", uuid4())] * 3 + [("elsewhere", uuid4()), ("elsewhere", None)]
    for number, (workspace, release) in enumerate(due):
        moment = timezone.now() - HOUR + datetime.timedelta(seconds=number)
        about = {"identity": uuid4()} if release is None else {"release_id": release}
        Schedule.objects.create(workspace_id=workspace, run_at=moment, due_at=moment, **about)
    ran: list[tuple[str, bool]] = []
    late = Schedule(workspace_id="default", identity=uuid4(), run_at=timezone.now(), due_at=timezone.now())

    def done(schedule: Schedule) -> None:
        ran.append((schedule.workspace_id, schedule.release_id is not None))
        schedule.end(ScheduleState.DONE)
        if ran[4:] == [("acme", True)]:  # comes due while the first release is published
            late.save()

    monkeypatch.setattr(running, "run", done)
    runner = running.Runner()
    runner.run_versions()
    for _ in range(2):
        runner.run_releases()
        runner.run_versions()
    singles, releases = ("acme", False), ("acme", True)
    assert ran == [
        singles, ("elsewhere", False), singles, singles,
        releases, ("default", False), ("elsewhere", True), releases, releases,
    ]  # fmt: skip


def test_nine_in_berlin_stays_nine_when_the_rules_of_the_zone_change(
    cast: Cast, kind: Kind, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft, localTime="2028-07-03T09:00", timeZone="Europe/Berlin")
    assert made["runAt"] == "2028-07-03T07:00:00.000Z"
    earlier = datetime.datetime(
        2028, 7, 3, 8, tzinfo=datetime.UTC
    )  # as if the rules of the zone had been different
    Schedule.objects.update(run_at=earlier, due_at=earlier)
    follow_time_zones()
    assert cast.paula.get(f"/schedules/{made['id']}").body["runAt"] == "2028-07-03T07:00:00.000Z"


def test_a_release_goes_live_at_its_time_unless_an_item_has_a_hotfix(cast: Cast) -> None:
    old = {
        kind: str(kind.make(cast.paula, autoPublish=True)["activeVersionId"])
        for kind in (AGENTS, PROMPT_BLOCKS)
    }
    new = {kind: str(kind.save(cast.paula)["latestVersionId"]) for kind in old}
    items = [{"resource": reference(kind), "versionId": new[kind]} for kind in new]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    body = {"releaseId": release["id"], "runAt": ahead()}
    first, second = (cast.paula.post("/schedules", body).body for _ in range(2))
    AGENTS.publish(cast.paula, "writer", AGENTS.save(cast.paula, text="mended")["latestVersionId"])
    mended = live(cast.paula, AGENTS)
    refused = run(first, cast.paula)
    assert (refused["state"], refused["code"]) == ("failed", "edit_conflict")
    assert (live(cast.paula, AGENTS), live(cast.paula, PROMPT_BLOCKS)) == (mended, old[PROMPT_BLOCKS])
    AGENTS.publish(cast.paula, "writer", old[AGENTS])
    assert run(second, cast.paula)["state"] == "done"
    assert {kind: live(cast.paula, kind) for kind in new} == new
    assert cast.paula.post("/schedules", body).code == "release_published"


@pytest.mark.parametrize("door", ["studio", "rest", "python"])
def test_publishing_a_scheduled_release_by_hand_cancels_its_schedule(cast: Cast, door: str) -> None:
    AGENTS.make(cast.paula, autoPublish=True)
    draft = AGENTS.save(cast.paula)["latestVersionId"]
    items = [{"resource": reference(AGENTS), "versionId": draft}]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    made = cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": ahead()}).body
    if door == "studio":
        alice, address = Visitor("alice"), workspace_page(f"releases/{release['id']}")
        shown = alice.get(address)
        for page in (workspace_page("releases"), "/studio/releases/"):
            assert "Autumn Scheduled 1 item" in alice.get(page).text
        assert "Autumn Scheduled" in Visitor("paula").get("/studio/").text
        assert "Publishing now cancels the schedule." in shown.text
        assert alice.post(address, do="publish", tag=shown.field("tag")).status == 302
        after = alice.get(address).text
        assert "Its schedule is cancelled." in after and "will fail" not in after
        assert "Will fail" not in alice.get(KINDS[AGENTS].address("changelist")).text
    elif door == "rest":
        assert cast.alice.post(f"/releases/{release['id']}/publish").status == 200
    else:
        get_editor().releases.publish(release["id"], by=caller_for(User.objects.get(username="alice")))
    assert live(cast.paula, AGENTS) == draft
    assert cast.paula.get(f"/schedules/{made['id']}").body["state"] == "cancelled"
    event = Event.objects.get(type="schedule.cancelled")
    assert (event.actor, event.detail["scheduleId"]) == ("alice", made["id"])


Ask = Callable[[Api, str, list[dict[str, Any]]], int]
CHANGES: dict[str, Ask] = {
    "items": lambda api, path, items: api.patch(path, {"items": items}).status,
    "no items": lambda api, path, _: api.patch(path, {"items": []}).status,
    "title": lambda api, path, _: api.patch(path, {"title": "Mine"}).status,
    "description": lambda api, path, _: api.patch(path, {"description": "Mine"}).status,
    "delete": lambda api, path, _: api.delete(path).status,
}


@pytest.mark.parametrize("what", CHANGES)
def test_changing_or_deleting_a_scheduled_release_needs_the_right_to_publish(
    cast: Cast, kind: Kind, draft: str, what: str
) -> None:
    items = [{"resource": reference(kind), "versionId": draft}]
    body = {"workspaceId": "acme", "title": "Autumn", "items": items}
    slipped_in = kind.save(cast.edgar, text="no one has looked at this")["latestVersionId"]
    others = [{"resource": reference(kind), "versionId": slipped_in}]
    ids = [cast.edgar.post("/releases", body).body["id"] for _ in range(2)]
    waiting, cancelled = (f"/releases/{one}" for one in ids)
    made = [cast.paula.post("/schedules", {"releaseId": one, "runAt": ahead()}).body["id"] for one in ids]
    assert cast.paula.delete(f"/schedules/{made[1]}").status == 200
    before = cast.edgar.get(waiting)
    assert CHANGES[what](cast.edgar, waiting, others) == 403
    after = cast.edgar.get(waiting)
    assert (after.body, after.etag) == (before.body, before.etag)
    assert cast.edgar.get(f"/schedules/{made[0]}").body["state"] == "scheduled"
    assert CHANGES[what](cast.paula, waiting, others) == 200
    assert CHANGES[what](cast.edgar, cancelled, others) == 200


def test_items_added_to_a_scheduled_release_do_not_get_the_rights_of_its_scheduler(cast: Cast) -> None:
    """Alice is a member of `secret`, too; the item that Paula adds to the release shows nothing of it."""
    Workspace.objects.create(id="secret", name="Secret")
    give_role(User.objects.get(username="alice"), "secret", Role.ADMIN)
    PROMPT_BLOCKS.make(cast.alice, "quiet", text="top secret", workspaceId="secret", autoPublish=True)
    AGENTS.make(cast.paula, "writer", autoPublish=True, workspaceId="acme")
    body = {"workspaceId": "acme", "title": "Autumn", "items": [{"resource": reference(AGENTS)}]}
    release = f"/releases/{cast.alice.post('/releases', body).body['id']}"
    when = {"releaseId": release.removeprefix("/releases/"), "runAt": ahead(), "force": True}
    made = cast.alice.post("/schedules", when).body
    refers: Any = [{"type": "prompt_block_ref", "id": "quiet"}]
    names_it = AGENTS.save(cast.paula, text=refers)["latestVersionId"]
    items = [{"resource": reference(AGENTS), "versionId": names_it}]
    assert cast.paula.patch(release, {"items": items}).status == 200
    assert cast.alice.get(f"/schedules/{made['id']}").body["createdBy"] == "paula"
    assert run(made, cast.alice)["state"] == "failed"
    assert "top secret" not in str(cast.paula.get("/agents/writer").body)


def test_deleting_a_release_ends_its_schedules(cast: Cast, kind: Kind, draft: str) -> None:
    items = [{"resource": reference(kind), "versionId": draft}]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    made = cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": ahead()}).body
    assert cast.paula.delete(f"/releases/{release['id']}").status == 200
    assert cast.paula.get(f"/schedules/{made['id']}").body["code"] == "gone"


def test_creating_a_schedule_does_not_ask_the_gate(cast: Cast, kind: Kind, draft: str) -> None:
    require_approvals(5)
    assert ask(cast.paula, kind, draft).status == 201
