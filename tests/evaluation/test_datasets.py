"""Datasets: their members, who sees them, and what is refused."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import Answer, Api
from tests.support.datasets import DATASETS, make_dataset
from tests.support.people import key_of
from tests.support.scorers import make_scorer

MEMBERS: dict[str, Any] = {
    "description": "What people ask.",
    "metadata": {"origin": {"b": 1.0, "a": 2**60}},
    "inputSchema": {"type": "string"},
    "groundTruthSchema": {"type": "string"},
    "requestContextSchema": {"type": "object"},
    "tags": ["first"],
    "targetType": "agent",
    "targetIds": ["writer"],
}


def test_a_dataset_keeps_what_it_is_given(alice: Api) -> None:
    make_scorer(alice)
    answer = alice.post(
        DATASETS, {"name": " Questions ", "workspaceId": "acme", "scorerIds": ["exact"], **MEMBERS}
    )
    made = answer.body
    assert (answer.status, answer.headers["Location"]) == (201, f"/api/datasets/{made['id']}")
    assert {name: made[name] for name in MEMBERS} == MEMBERS
    assert (made["name"], made["scorerIds"], made["version"]) == ("Questions", ["exact"], 0)
    dataset = f"{DATASETS}/{made['id']}"
    changed = alice.patch(dataset, {"description": None, "inputSchema": None, "tags": ["second"]}).body
    assert (changed["description"], changed["inputSchema"], changed["tags"]) == (None, None, ["second"])
    assert changed["targetIds"] == ["writer"] and changed["version"] == 0
    assert alice.get(dataset).body == changed
    assert alice.delete(dataset).body["success"] is True
    assert alice.get(dataset).status == 404
    logged = alice.get("/events", type="dataset.*").body["events"]
    assert [one["type"] for one in logged] == ["dataset.created", "dataset.updated", "dataset.deleted"]
    assert logged[1]["detail"]["fields"] == ["description", "tags", "inputSchema"]


def test_lists_page_nested_and_know_the_targets(alice: Api) -> None:
    make_dataset(alice, "One", targetType="agent", targetIds=["a", "b"])
    make_dataset(alice, "Two", targetType="scorer", targetIds=["a"])
    make_dataset(alice, "Three")
    found = alice.get(DATASETS, perPage=2).body
    assert [one["name"] for one in found["datasets"]] == ["Three", "Two"]
    assert found["pagination"] == {"total": 3, "page": 0, "perPage": 2, "hasMore": True}
    for query, names in (
        ({"targetType": "agent"}, ["One"]),
        ({"targetIds": "a"}, ["Two", "One"]),
        ({"targetIds": "b"}, ["One"]),
        ({"targetIds": "ab"}, []),
        ({"orderBy[field]": "name", "orderBy[direction]": "ASC"}, ["One", "Three", "Two"]),
    ):
        assert [one["name"] for one in alice.get(DATASETS, **query).body["datasets"]] == names
    assert alice.get(DATASETS, targetType="other").status == 400


WRONG: list[tuple[Any, ...]] = [
    ({"name": " "}, ["name"]),
    ({"name": "x" * 201}, ["name"]),
    ({"name": None}, ["name"]),
    ({"version": 3}, ["version"]),
    ({"targetType": "robot"}, ["targetType"]),
    ({"targetIds": ["a"]}, ["targetType"]),
    ({"scorerIds": ["nobody"]}, ["scorerIds.0"]),
    ({"inputSchema": {"type": "x"}}, ["inputSchema.type"]),
    ({"groundTruthSchema": {"$ref": "http://a"}}, ["groundTruthSchema.$ref"]),
    ({"tags": [""]}, ["tags.0"]),
]


def test_what_does_not_fit_is_refused_by_its_name(alice: Api) -> None:
    for given, fields in WRONG:
        answer = alice.post(DATASETS, {"name": "Wrong", "workspaceId": "acme", **given})
        assert (answer.status, answer.fields) == (400, fields)
        assert alice.get(DATASETS).body["pagination"]["total"] == 0


def test_a_name_is_taken_once_in_a_workspace(alice: Api, cast: Cast) -> None:
    make_dataset(alice, "One")
    other = make_dataset(alice, "Two")
    for answer in (
        alice.post(DATASETS, {"name": "One", "workspaceId": "acme"}),
        alice.patch(other, {"name": "One"}),
    ):
        assert (answer.status, answer.code) == (409, "name_taken")
    assert cast.charlie.post(DATASETS, {"name": "One"}).status == 201
    made = alice.post(DATASETS, {"name": "Cafe\u0301 ", "workspaceId": "acme"})
    assert (made.status, made.body["name"]) == (201, "Caf\u00e9")
    assert alice.post(DATASETS, {"name": "Caf\u00e9", "workspaceId": "acme"}).code == "name_taken"


def test_a_key_of_some_ids_reaches_only_datasets_for_these(alice: Api) -> None:
    """What names no targets may be about any agent."""
    anything = make_dataset(alice, "Anything")
    own = make_dataset(alice, "Own", targetType="agent", targetIds=["team/a"])
    mixed = make_dataset(alice, "Mixed", targetType="agent", targetIds=["team/a", "writer"])
    team = key_of("alice", workspace="acme", id_prefix="team/")
    assert [team.get(one).status for one in (anything, own, mixed)] == [404, 200, 404]
    assert [one["name"] for one in team.get(DATASETS).body["datasets"]] == ["Own"]
    for change in (lambda: team.patch(anything, {"name": "Mine"}), lambda: add_to(team, anything)):
        assert change().status == 404
    for refused in (
        team.post(DATASETS, {"name": "Mine", "workspaceId": "acme"}),
        team.patch(own, {"targetIds": None}),
        team.patch(own, {"targetIds": ["writer"]}),
    ):
        assert (refused.status, refused.code) == (403, "key_scope")
    assert team.patch(own, {"name": "Ours"}).status == 200


def add_to(api: Api, dataset: str) -> Answer:
    return api.post(f"{dataset}/items", {"input": 1})


def test_viewers_are_shown_no_datasets_in_the_list_and_the_log(alice: Api, cast: Cast) -> None:
    make_dataset(alice)
    assert cast.vera.get(DATASETS).body["pagination"]["total"] == 0
    for api in (cast.vera, cast.charlie):
        assert api.get("/events", type="dataset.*").body["events"] == []
