"""Rollouts over HTTP: starting, widening, stopping, completing, and what they keep from happening."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client.parts import evaluate
from editor_client.shared.arms import Arm

from capabilities.rollouts.verbs import Rollouts
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.rollouts import arm, start, started, with_draft
from tests.support.served import encoded, published_agent, published_block, reference, served, text
from tests.support.studio import KINDS
from versioning.conf import get_editor

pytestmark = pytest.mark.usefixtures("cast")


def test_a_rollout_has_the_requested_members(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft, weight=500), arm(live, "same", 200))
    assert made["resource"] == {"kind": KINDS[kind].slug, "id": "writer"}
    assert made["arms"] == [arm(draft, weight=500), arm(live, "same", 200)]
    assert (made["state"], made["bucketBy"], made["startedBy"]) == ("running", "userId", "paula")
    assert made["endedAt"] is made["reason"] is None
    assert cast.vera.get(f"/rollouts/{made['id']}").body == made
    assert cast.vera.get("/rollouts").body["rollouts"] == [made]


WRONG: list[tuple[Any, ...]] = [
    ({"arms": []}, "arms"),
    ({"bucketBy": "user id"}, "bucketBy"),
    ({"bucketBy": "0"}, "bucketBy"),
    ({"arms": [{"name": "Upper", "versionId": "live", "weight": 1}]}, "arms.0.name"),
    ({"arms": [{"name": "a", "versionId": "live", "weight": 10_001}]}, "arms.0.weight"),
    ({"arms": [{"name": "a", "versionId": "gone", "weight": 1}]}, "arms.0.versionId"),
    ({"arms": [{"name": "a", "versionId": "live", "weight": 1}] * 2}, "arms.1.name"),
    (
        {
            "arms": [
                {"name": "a", "versionId": "live", "weight": 5_001},
                {"name": "b", "versionId": "live", "weight": 0},
            ]
        },
        "arms.0.weight",
    ),
]


def test_invalid_members_are_refused(cast: Cast, kind: Kind) -> None:
    live, _ = with_draft(cast.alice, kind)
    for wrong, field in WRONG:
        given = {"arms": [arm(live)], **wrong}
        given["arms"] = [
            one | ({"versionId": live} if one["versionId"] == "live" else {}) for one in given["arms"]
        ]
        answer = start(cast.paula, kind, **given)
        assert (answer.status, answer.fields) == (400, [field]), answer.body


def test_a_rollout_needs_an_active_version(cast: Cast, kind: Kind) -> None:
    draft = kind.make(cast.alice)["latestVersionId"]
    answer = start(cast.paula, kind, arm(draft))
    assert (answer.status, answer.fields) == (400, ["resource"])


def test_python_starts_the_first_rollout_of_a_workspace(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.paula, kind)
    arms = [Arm(name="new", version_id=draft, weight=500)]
    rollouts = get_editor().capability(Rollouts)
    name = KINDS[kind].slug
    assert rollouts.start(name, "writer", bucket_by="userId", arms=arms).state == "running"


def test_a_running_rollout_blocks_publishing_unpublishing_and_deleting(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft))
    for answer in (
        start(cast.paula, kind, arm(live)),
        cast.paula.post(kind.url("writer", "versions", draft, "activate")),
        cast.paula.patch(kind.url("writer"), {"name": "Other", "autoPublish": True}),
        cast.paula.post(kind.url("writer", "unpublish")),
        cast.paula.delete(kind.url("writer")),
        cast.paula.delete(kind.url("writer", "versions", draft)),
    ):
        assert (answer.status, answer.code) == (409, "rollout_running"), answer.body
    published = cast.paula.post(kind.url("writer", "versions", draft, "activate"))
    assert "Stop it before publishing." in str(published.body)
    assert cast.paula.put(kind.url("writer", "labels", "free"), {"versionId": draft}).status == 200
    assert cast.vera.get(f"/rollouts/{made['id']}").body["state"] == "running"


@pytest.mark.parametrize("way", ["activate", "unpublish", "delete"])
def test_a_rollout_is_ended_with_end_rollout(cast: Cast, kind: Kind, way: str) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft))
    end = {"endRollout": True}
    if way == "activate":
        answer = cast.paula.post(kind.url("writer", "versions", draft, "activate"), end)
    elif way == "unpublish":
        answer = cast.paula.post(kind.url("writer", "unpublish"), end)
    else:
        answer = cast.paula.delete(f"{kind.url('writer')}?endRollout=true")
    assert answer.status == 200, answer.body
    found = cast.paula.get(f"/rollouts/{made['id']}")
    assert found.status == 404 if way == "delete" else found.body["state"] == "stopped"


def test_weights_can_be_changed_by_name_until_the_rollout_ends(cast: Cast, kind: Kind) -> None:
    live, draft = with_draft(cast.alice, kind)
    address = f"/rollouts/{started(cast.paula, kind, arm(draft, weight=1), arm(live, 'same', 2))['id']}"
    changed = cast.paula.patch(address, {"arms": [{"name": "same", "weight": 3}]}).body
    assert [one["weight"] for one in changed["arms"]] == [1, 3]
    for arms, field in (
        ([{"name": "other", "weight": 1}], "arms.0.name"),
        ([{"name": "new", "weight": 1}] * 2, "arms.1.name"),
        ([{"name": "new", "weight": 5_001}], "arms.0.weight"),
    ):
        answer = cast.paula.patch(address, {"arms": arms})
        assert (answer.status, answer.fields) == (400, [field]), answer.body
    stopped = cast.paula.post(f"{address}/stop", {"reason": " Too long. "}).body
    assert (stopped["state"], stopped["reason"]) == ("stopped", "Too long.")
    for answer in (
        cast.paula.patch(address, {"arms": []}),
        cast.paula.post(f"{address}/stop", {}),
        cast.paula.post(f"{address}/complete", {"arm": "new"}),
    ):
        assert (answer.status, answer.code) == (409, "rollout_ended")


def test_completing_makes_the_version_of_an_arm_active(cast: Cast, kind: Kind) -> None:
    _, draft = with_draft(cast.alice, kind)
    made = started(cast.paula, kind, arm(draft))
    address = f"/rollouts/{made['id']}/complete"
    assert cast.paula.post(address, {"arm": "other"}).fields == ["arm"]
    assert cast.paula.post(address, {"arm": "new"}).body["state"] == "completed"
    assert cast.vera.get(kind.url("writer")).body["activeVersionId"] == draft


def test_answers_name_their_arm(cast: Cast) -> None:
    published_block(cast.alice, "tone", "Be brief.")
    kinder = PROMPT_BLOCKS.save(cast.alice, "tone", "Be kind.")["latestVersionId"]
    live = published_agent(cast.alice, "writer", [text("Write."), reference("tone")])
    shorter = AGENTS.save(cast.alice, "writer", [text("Write less."), reference("tone")])["latestVersionId"]
    of_agent = started(cast.paula, AGENTS, arm(shorter, weight=5_000))
    of_block = started(cast.paula, PROMPT_BLOCKS, arm(kinder, weight=5_000), resource_id="tone")
    parts = cast.vera.get("/agents/writer", form="parts").body
    seen = set()
    for context in ({}, {"userId": ""}, *({"userId": f"user{number}"} for number in range(40))):
        found = served(cast.vera, context=context)
        own, (block,) = found["rollout"], found["blocks"]
        assert (own["id"], block["rollout"]["id"]) == (of_agent["id"], of_block["id"])
        assert (
            (own["reason"] == "noKey")
            == (not context.get("userId"))
            == (block["rollout"]["reason"] == "noKey")
        )
        assert found["resolvedVersionId"] == (shorter if own["arm"] else live)
        whole = (
            "Write less." if own["arm"] else "Write.",
            "Be kind." if block["rollout"]["arm"] else "Be brief.",
        )
        assert found["instructions"] == "\n\n".join(whole)
        assert evaluate(parts, context) == found
        assert cast.vera.get("/agents", requestContext=encoded(context)).body["writer"] == found
        seen.add(whole)
    assert len(seen) == 4
    selected = served(cast.alice, context={"userId": "user1"}, versionId=live)
    assert selected["rollout"] is None and selected["blocks"][0]["rollout"] is not None
    drafts = served(cast.alice, context={"userId": "user1"}, status="draft")
    assert drafts["rollout"] is drafts["blocks"][0]["rollout"] is None
