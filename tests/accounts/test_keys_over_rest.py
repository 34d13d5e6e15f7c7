"""Keys and service accounts over HTTP; what each route needs is in tests/api/test_rights_of_routes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.people import give_role, key_of
from tests.support.unchanged import is_refusal
from versioning.domain.access import Action
from versioning.models import ApiKey

pytestmark = pytest.mark.django_db

SOON = (timezone.now() + datetime.timedelta(days=1)).isoformat(timespec="seconds").replace("+00:00", "Z")
LATER = (timezone.now() + datetime.timedelta(days=2)).isoformat(timespec="seconds").replace("+00:00", "Z")


def make(api: Api, **more: Any) -> dict[str, Any]:
    """Make a key and return the answer."""
    answer = api.post("/keys", {"name": "CI", **more})
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def prefixes(api: Api) -> set[str]:
    return {one["prefix"] for one in api.get("/keys").body["keys"]}


def test_a_key_is_shown_once_and_limited(cast: Cast) -> None:
    limits = {
        "workspaceId": "acme",
        "role": "editor",
        "actions": ["write", "read"],
        "idPrefix": "team/",
        "expiresAt": SOON,
    }
    made = make(cast.alice, **limits)
    text = made.pop("key")
    assert made == {
        "prefix": text[:11],
        "name": "CI",
        "owner": "alice",
        **limits,
        "actions": ["read", "write"],
        "createdAt": made["createdAt"],
        "expiresAt": SOON.replace("Z", ".000Z"),
        "lastUsedAt": None,
        "state": "active",
    }
    me = Api(text).get("/me").body["key"]
    assert me == {name: made[name] for name in ("prefix", "actions", "idPrefix", "expiresAt")}
    assert cast.alice.get("/keys").body["keys"][0]["lastUsedAt"].endswith(":00:00.000Z")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": " "}, "name"),
        ({"actions": []}, "actions"),
        ({"actions": ["fly"]}, "actions.0"),
        ({"idPrefix": ""}, "idPrefix"),
        ({"idPrefix": "a\nb"}, "idPrefix"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": "tomorrow"}, "expiresAt"),
        ({"expiresAt": "2120-01-01T00:00:00"}, "expiresAt"),
        ({"role": "owner"}, "role"),
        ({"owner": "vera"}, "owner"),
        ({"digest": "x"}, "digest"),
    ],
)
def test_wrong_limits_are_refused(cast: Cast, wrong: dict[str, Any], field: str) -> None:
    before = ApiKey.objects.count()
    assert cast.alice.post("/keys", {"name": "CI", **wrong}).fields == [field]
    assert ApiKey.objects.count() == before


def test_nobody_grants_more_than_they_have(cast: Cast) -> None:
    assert cast.vera.post("/keys", {"name": "x", "workspaceId": "acme", "role": "editor"}).fields == ["role"]
    assert cast.vera.post("/keys", {"name": "x", "workspaceId": "elsewhere"}).status == 404
    assert is_refusal(cast.alice.post("/keys", {"name": "x", "actions": ["directory"]}), 403, "forbidden")
    assert make(cast.root, actions=["directory"])["actions"] == ["directory"]


MORE = [
    {"actions": None},
    {"actions": ["admin", "read", "publish"]},
    {"idPrefix": None},
    {"idPrefix": "tea"},
    {"idPrefix": "Team/"},
    {"expiresAt": None},
    {"expiresAt": LATER},
    {"workspaceId": None},
    {"role": None},
    {"role": "admin"},
]


@pytest.mark.parametrize("more", MORE)
def test_a_key_makes_no_key_that_may_more_or_lives_longer(cast: Cast, more: dict[str, Any]) -> None:
    give_role("alice", "elsewhere", "admin")
    limits = {"workspaceId": "acme", "role": "publisher", "actions": ["admin", "read"]}
    maker = Api(make(cast.alice, **limits, idPrefix="team/", expiresAt=SOON)["key"])
    refused = maker.post("/keys", {"name": "x", **more})
    assert is_refusal(refused, 403, "key_scope") and refused.body["action"] == "admin"
    assert maker.post("/keys", {"name": "x", "workspaceId": "elsewhere"}).status == 404
    inherited = make(maker)
    assert (inherited["workspaceId"], inherited["role"]) == ("acme", "publisher")
    assert (inherited["actions"], inherited["idPrefix"]) == (["read", "admin"], "team/")
    assert inherited["expiresAt"] == SOON.replace("Z", ".000Z")
    assert make(maker, idPrefix="team/a", actions=["read"], role="viewer")["role"] == "viewer"


def test_one_sees_ones_own_keys_and_admins_those_of_their_workspace(cast: Cast) -> None:
    veras, limited = make(cast.vera)["prefix"], make(cast.vera, workspaceId="acme")["prefix"]
    assert {veras, limited} <= prefixes(cast.vera)
    assert prefixes(cast.alice) & {veras, limited} == {limited}
    assert not prefixes(cast.charlie) & {veras, limited}
    assert {veras, limited} <= prefixes(cast.root)
    assert cast.charlie.delete(f"/keys/{limited}").status == 404
    assert is_refusal(cast.alice.delete(f"/keys/{veras}"), 403, "forbidden")
    assert cast.alice.delete(f"/keys/{limited}").status == 200
    assert cast.vera.delete(f"/keys/{veras}").status == 200
    states = {one["prefix"]: one["state"] for one in cast.vera.get("/keys").body["keys"]}
    assert states[limited] == states[veras] == "revoked"


# Service accounts

ROBOT = {"username": "robot", "workspaceId": "acme", "role": "editor"}


def test_a_service_account_has_keys_and_no_password(cast: Cast) -> None:
    made = cast.alice.post("/service-accounts", ROBOT)
    assert (made.status, made.body["role"]) == (201, "editor")
    assert is_refusal(cast.alice.post("/service-accounts", ROBOT), 409, "id_taken")
    assert not User.objects.get(username="robot").has_usable_password()
    key = make(cast.alice, owner="robot")
    assert (key["owner"], key["workspaceId"]) == ("robot", "acme")
    robot = Api(key["key"])
    assert AGENTS.make(robot)["authorId"] == "robot"
    [member] = [one for one in cast.vera.get("/workspaces/acme/members").body["members"] if one["service"]]
    assert member["username"] == "robot"
    too_high = cast.alice.post("/keys", {"name": "x", "owner": "robot", "role": "admin"})
    assert too_high.fields == ["role"]
    elsewhere = cast.alice.post("/keys", {"name": "x", "owner": "robot", "workspaceId": "elsewhere"})
    assert elsewhere.fields == ["workspaceId"]
    assert cast.charlie.post("/keys", {"name": "x", "owner": "robot"}).fields == ["owner"]
    assert [one["username"] for one in cast.alice.get("/service-accounts").body["serviceAccounts"]] == [
        "robot"
    ]
    assert cast.charlie.delete("/service-accounts/robot").status == 404
    assert cast.alice.delete("/service-accounts/robot").status == 200
    assert robot.get("/me").status == 401
    assert cast.alice.get("/service-accounts").body["total"] == 0


def test_a_service_account_is_no_last_admin(cast: Cast) -> None:
    assert cast.alice.post("/service-accounts", {**ROBOT, "role": "admin"}).status == 201
    assert is_refusal(cast.alice.delete("/workspaces/acme/members/alice"), 409, "last_admin")


def test_a_key_of_a_person_makes_no_key_of_a_service_account_that_outlives_it(cast: Cast) -> None:
    assert cast.alice.post("/service-accounts", ROBOT).status == 201
    maker = Api(make(cast.alice, expiresAt=SOON)["key"])
    assert is_refusal(
        maker.post("/keys", {"name": "x", "owner": "robot", "expiresAt": None}), 403, "key_scope"
    )
    assert make(maker, owner="robot")["expiresAt"] == SOON.replace("Z", ".000Z")


# What a key without `publish` cannot do by other doors


def test_a_key_that_may_only_write_makes_drafts(cast: Cast) -> None:
    writer = key_of("alice", workspace="acme", actions=[Action.WRITE])
    assert AGENTS.make(writer)["activeVersionId"] is None
    for body in ({"autoPublish": True}, {"visibility": "public"}):
        refused = writer.patch(AGENTS.url("writer"), body)
        assert is_refusal(refused, 403, "key_scope") and refused.body["action"] == "publish"
    for more in ({"autoPublish": True}, {"visibility": "public"}):
        assert is_refusal(writer.post(AGENTS.path, AGENTS.body(id="new", **more)), 403, "key_scope")
    assert cast.alice.get(AGENTS.url("new")).status == 404
    assert cast.alice.get(AGENTS.url("writer"), status="draft").body["status"] == "draft"


# Ids

SCOPED = {"workspace": "acme", "id_prefix": "team/"}


def test_a_key_that_is_limited_to_ids_knows_no_others(cast: Cast) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        for resource_id in ("team/a", "other", "Team/b"):
            kind.make(cast.alice, resource_id, autoPublish=True)
    team = key_of("alice", **SCOPED)
    for kind in (AGENTS, PROMPT_BLOCKS):
        assert [one["id"] for one in team.get(kind.path).body[kind.list_key]] == ["team/a"]
        missing = team.get(kind.url("nothing"))
        for resource_id in ("other", "Team/b"):
            for answer in (
                team.get(kind.url(resource_id)),
                team.patch(kind.url(resource_id), {"name": "x"}),
                team.delete(kind.url(resource_id)),
                team.get(kind.url(resource_id, "versions")),
                team.post(kind.url(resource_id, "export"), {}),
            ):
                assert (answer.status, answer.body) == (404, missing.body)
        outside = team.post(kind.path, kind.body(id="elsewhere"))
        assert is_refusal(outside, 403, "key_scope") and "team/" in outside.body["error"]
        assert team.patch(kind.url("team/a"), {"name": "Changed"}).status == 200
    assert list(team.get("/agents").body) == ["team/a"]
    assert team.get("/agents/other").status == 404
    events = team.get("/events", limit=100).body["events"]
    assert {one["resource"]["id"] for one in events if one["resource"]} == {"team/a"}
    assert all(one["resource"] for one in events)


def test_resolved_text_shows_blocks_outside_and_a_reference_gives_no_access(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "shared", text="Common words.", autoPublish=True)
    reference = [{"type": "prompt_block_ref", "id": "shared"}]
    AGENTS.make(cast.alice, "team/a", instructions=reference, autoPublish=True)
    team = key_of("alice", **SCOPED)
    assert team.get("/agents/team%2Fa").body["instructions"] == "Common words."
    preview = team.post("/stored/agents/preview-instructions", {"blocks": reference}).body
    assert preview["result"] == ""
    mine = AGENTS.body(id="team/b", instructions=reference)
    assert is_refusal(team.post(AGENTS.path, {**mine, "autoPublish": True}), 400, "unpublished_blocks")
    assert team.post(AGENTS.path, {**mine, "autoPublish": False}).status == 201
    assert "Common" not in str(team.get("/agents/team%2Fb", status="draft").body)
    assert "Common" not in str(team.get("/agents/team%2Fb").body)


def test_a_key_that_is_limited_to_ids_releases_no_others(cast: Cast) -> None:
    for resource_id in ("team/a", "other"):
        AGENTS.make(cast.alice, resource_id)
    items = {one: {"resource": {"kind": "agent", "id": one}} for one in ("team/a", "other", "missing")}
    team, new = key_of("alice", **SCOPED), {"workspaceId": "acme", "title": "Autumn"}
    refused = [team.post("/releases", {**new, "items": [items[one]]}) for one in ("other", "missing")]
    assert [(one.status, one.body) for one in refused] == [(400, refused[0].body)] * 2
    made = team.post("/releases", {**new, "items": [items["team/a"]]})
    assert made.status == 201
    changed = team.patch(f"/releases/{made.body['id']}", {"items": list(items.values())[:2]})
    assert changed.fields == ["items.1.resource"] and cast.alice.get("/releases").body["total"] == 1


def test_a_key_that_is_limited_to_ids_does_not_administer(cast: Cast) -> None:
    team = key_of("alice", **SCOPED)
    for answer in (
        team.post("/workspaces/acme/invitations", {"username": "ida", "role": "admin"}),
        team.put("/workspaces/acme/review-policy", {"required": 1, "bypass": "nobody"}),
        team.patch("/workspaces/acme", {"name": "Ours"}),
        team.put("/workspaces/acme/members/vera", {"role": "admin"}),
        team.post("/service-accounts", ROBOT),
    ):
        assert is_refusal(answer, 403, "key_scope") and answer.body["action"] == "admin"
    rules, dataset = [{"rule": "notWorse"}], "6f9619ff-8b86-4011-b42d-00c04fc96500"
    gate = {"workspaceId": "acme", "datasetId": dataset, "scorerIds": ["team/s"], "rules": rules}
    assert is_refusal(team.post("/gates", gate), 403, "key_scope")
