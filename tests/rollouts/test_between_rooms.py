"""A rollout along with releases, schedules, reviews, labels, pruning, and a reused id."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.releases import conftest as releases
from tests.schedules import conftest as schedules
from tests.support.api import AGENTS, Answer, Kind
from tests.support.reviews import approve, ask, require_approvals
from tests.support.rollouts import arm, start, started, with_draft
from tests.support.runs import ECHO, ran, team
from versioning.conf import get_editor

pytestmark = pytest.mark.usefixtures("cast")


def test_a_release_is_blocked_by_a_rollout_or_ends_it(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    release = releases.make(cast.alice, releases.item(kind, "writer", draft))
    made = started(cast.paula, kind, arm(draft))
    assert releases.codes(releases.check(cast.alice, release)["problems"]) == [("writer", "rollout_running")]
    assert releases.publish(cast.paula, release).code == "release_blocked"
    assert releases.live(cast.alice, kind, "writer") == live
    assert releases.publish(cast.paula, release, endRollout=True).status == 200
    assert releases.live(cast.alice, kind, "writer") == draft
    assert cast.vera.get(f"/rollouts/{made['id']}").body["state"] == "stopped"


def test_a_running_rollout_is_a_problem_of_a_schedule_and_makes_it_fail(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    schedule = schedules.scheduled(cast.paula, kind, draft)
    started(cast.paula, kind, arm(draft))
    found = cast.paula.get(f"/schedules/{schedule['id']}").body
    assert [one["code"] for one in found["problems"]] == ["rollout_running"]
    done = schedules.run(schedule, cast.paula)
    assert (done["state"], done["code"]) == ("failed", "rollout_running")


def test_every_arm_needs_its_approvals_once(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    kind.save(cast.edgar, "writer", "words of edgar")
    asked = ask(cast.edgar, kind)
    require_approvals(1)
    assert start(cast.paula, kind, arm(asked["versionId"])).code == "review_required"
    approve(cast.paula, asked)
    assert start(cast.paula, kind, arm(draft), arm(asked["versionId"], "asked", 1)).status == 400
    made = started(cast.paula, kind, arm(asked["versionId"]))
    assert cast.paula.post(f"/rollouts/{made['id']}/complete", {"arm": "new"}).status == 200


def test_having_been_an_arm_exempts_no_version_from_review(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    first = started(cast.paula, kind, arm(draft, weight=0))
    require_approvals(1)
    completing = cast.paula.post(f"/rollouts/{first['id']}/complete", {"arm": "new"})
    assert completing.code == "review_required"
    assert cast.paula.post(f"/rollouts/{first['id']}/stop").status == 200
    activate = kind.url("writer", "versions", draft, "activate")
    assert cast.paula.post(activate).code == "review_required"
    kind.save(cast.edgar, "writer", "the newest words")
    kind.publish(cast.paula, "writer", live)  # which was active before


def test_an_arm_that_gets_more_passes_the_gate_again(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft, weight=500))
    address = f"/rollouts/{made['id']}"
    require_approvals(1)

    def weigh(weight: int, **more: object) -> Answer:
        return cast.alice.patch(address, {"arms": [{"name": "new", "weight": weight}], **more})

    assert weigh(501).code == "review_required"
    assert cast.alice.get(address).body["arms"][0]["weight"] == 500
    assert weigh(499).status == 200
    assert weigh(501, bypassReview={"reason": "An incident."}).status == 200
    bypassed = cast.alice.get("/events", type="review.bypassed").body["events"]
    assert [one["versionId"] for one in bypassed] == [draft]
    approve(cast.paula, ask(cast.edgar, kind))
    assert weigh(10_000).status == 200


def test_versions_of_arms_are_not_pruned(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft))
    for number in range(3):
        kind.save(cast.alice, "writer", f"words {number}")
    verbs = get_editor().agent if kind is AGENTS else get_editor().prompt
    verbs.prune("writer", 1)
    assert cast.alice.get(kind.url("writer", "versions", draft)).status == 200
    cast.paula.post(f"/rollouts/{made['id']}/stop", {})
    verbs.prune("writer", 1)
    assert cast.alice.get(kind.url("writer", "versions", draft)).status == 404


def test_a_resource_with_a_reused_id_has_no_rollouts(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft))
    assert cast.paula.delete(f"{kind.url('writer')}?endRollout=true").status == 200
    kind.make(cast.charlie, workspaceId="elsewhere", autoPublish=True)
    assert cast.charlie.get(f"/rollouts/{made['id']}").status == 404
    assert cast.charlie.get("/rollouts").body["total"] == 0


def test_readers_see_events_of_a_rollout_and_non_members_do_not(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft, weight=500))
    cast.paula.patch(f"/rollouts/{made['id']}", {"arms": [{"name": "new", "weight": 700}]})
    cast.paula.post(f"/rollouts/{made['id']}/complete", {"arm": "new"})
    heard = cast.vera.get("/events", type="rollout.*").body["events"]
    assert [one["type"] for one in heard] == ["rollout.started", "rollout.changed", "rollout.completed"]
    assert heard[1]["detail"] == {"rolloutId": made["id"], "weights": {"new": 700}}
    assert cast.charlie.get("/events", type="rollout.*").body["events"] == []


def test_a_run_reports_the_arms_of_its_sub_agents(cast: Cast) -> None:
    team(cast.alice)
    draft = AGENTS.save(cast.alice, "writer", "other words", model=ECHO)["latestVersionId"]
    made = started(cast.paula, AGENTS, arm(draft))
    run = ran(cast.vera, "lead", requestContext={"userId": "ada"})
    assert run["resolvedVersions"]["writer"] == draft
    outcome = {"id": made["id"], "arm": "new", "reason": "split"}
    assert run["rollouts"] == {"agents": {"writer": outcome}, "promptBlocks": {}}
