"""Items of datasets: every change is a version, and a revision never changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capabilities.evaluation.datasets import verbs
from tests.support.api import Api
from tests.support.datasets import add_item, inputs, make_dataset
from versioning.models import events

FULL: dict[str, Any] = {
    "input": {"messages": [{"role": "user", "content": "Hi"}], "n": 1.0},
    "groundTruth": ["Hello", None],
    "expectedTrajectory": {"steps": [{"name": "find"}], "ordering": "strict"},
    "toolMocks": [{"toolName": "find", "args": {"a": 1}, "output": None, "matchArgs": "ignore"}],
    "unmockedToolPolicy": "deny",
    "scorerIds": ["exact"],
    "requestContext": {"tier": "gold"},
    "metadata": {"tags": ["must"], "n": 2**60},
    "source": {"type": "csv", "referenceId": "row 7"},
}


def version_of(api: Api, dataset: str) -> int:
    version: int = api.get(dataset).body["version"]
    return version


def test_an_item_keeps_what_it_is_given(alice: Api) -> None:
    dataset = make_dataset(alice)
    answer = alice.post(f"{dataset}/items", {"externalId": "seven", **FULL})
    made = answer.body
    assert (answer.status, answer.headers["Location"]) == (201, f"/api{dataset}/items/{made['id']}")
    assert {name: made[name] for name in FULL} == FULL
    assert (made["externalId"], made["datasetVersion"]) == ("seven", 1)
    assert alice.get(f"{dataset}/items/{made['id']}").body == made
    plain = add_item(alice, dataset, input=None)
    assert plain["input"] is None and plain["groundTruth"] is None and plain["toolMocks"] is None


def test_every_call_is_one_version_and_old_versions_stay(alice: Api) -> None:
    dataset = make_dataset(alice)
    first = add_item(alice, dataset, input="one")
    batch = alice.post(f"{dataset}/items/batch", {"items": [{"input": "two"}, {"input": "three"}]})
    assert (batch.status, batch.body["count"], version_of(alice, dataset)) == (201, 2, 2)
    item = f"{dataset}/items/{first['id']}"
    assert alice.patch(item, {"input": "uno", "groundTruth": "ein"}).body["datasetVersion"] == 3
    assert alice.patch(item, {"input": "uno"}).body["datasetVersion"] == 3
    ids = [batch.body["items"][0]["id"], "no id", "00000000-0000-4000-8000-000000000000"]
    gone = alice.request("DELETE", f"{dataset}/items/batch", {"itemIds": ids})
    assert (gone.status, gone.body) == (200, {"success": True, "deletedCount": 1})
    assert alice.patch(item, {"groundTruth": None}).body["groundTruth"] is None
    assert version_of(alice, dataset) == 5
    assert inputs(alice, dataset) == ["uno", "three"]
    assert inputs(alice, dataset, version=2) == ["one", "two", "three"]
    assert inputs(alice, dataset, version=3) == ["uno", "two", "three"]
    assert inputs(alice, dataset, version=0) == []
    assert alice.get(f"{dataset}/items", version="two").fields == ["version"]
    newest = alice.get(dataset).body["version"]
    assert inputs(alice, dataset, version=newest) == inputs(alice, dataset)
    for path in ("items", "export"):
        missing = alice.get(f"{dataset}/{path}", version=newest + 1)
        assert (missing.status, missing.code) == (404, "not_found")
    history = alice.get(f"{item}/history").body["history"]
    assert [(one["datasetVersion"], one["validTo"], one["input"]) for one in history] == [
        (5, None, "uno"),
        (3, 5, "uno"),
        (1, 3, "one"),
    ]
    assert alice.get(f"{item}/versions/2").body == {**first, "updatedAt": first["updatedAt"]}
    assert alice.get(f"{item}/versions/6").status == alice.get(f"{item}/versions/0").status == 404
    assert alice.delete(item).status == 200
    assert (
        alice.get(item).status == alice.delete(item).status == alice.patch(item, {"input": 1}).status == 404
    )
    newest = alice.get(f"{item}/history").body["history"][0]
    assert (newest["isDeleted"], newest["datasetVersion"]) == (True, 6)
    versions = alice.get(f"{dataset}/versions").body
    assert [one["version"] for one in versions["versions"]] == [6, 5, 4, 3, 2, 1]
    assert versions["pagination"]["total"] == 6


def test_an_external_id_stays_with_its_first_item(alice: Api) -> None:
    dataset = make_dataset(alice)
    items = f"{dataset}/items"
    first = add_item(alice, dataset, externalId="a", metadata={"n": 1})
    again = alice.post(items, {"input": "Hi", "externalId": "a", "metadata": {"n": 1.0}, "groundTruth": None})
    assert (again.status, again.body["id"], version_of(alice, dataset)) == (200, first["id"], 1)
    batch = [{"input": 1}, {"input": "other", "externalId": "a"}, {"input": 2, "externalId": "b"}]
    refused = alice.post(f"{items}/batch", {"items": batch})
    assert (refused.status, refused.code) == (409, "conflict")
    about = {"index": 1, "externalId": "a", "existingItemId": first["id"]}
    assert refused.body["conflicts"] == [{**about, "reason": "payload_mismatch"}]
    assert version_of(alice, dataset) == 1 and inputs(alice, dataset) == ["Hi"]
    alice.delete(f"{items}/{first['id']}")
    deleted = alice.post(items, {"input": "Hi", "externalId": "a", "metadata": {"n": 1}})
    assert deleted.body["conflicts"] == [{**about, "index": 0, "reason": "deleted"}]
    twice = [{"input": "x", "externalId": "c"}, {"input": "x", "externalId": "c"}]
    assert len({one["id"] for one in alice.post(f"{items}/batch", {"items": twice}).body["items"]}) == 1


def test_a_purge_removes_the_content_and_nothing_else(alice: Api) -> None:
    dataset = make_dataset(alice)
    item = add_item(alice, dataset, input="SECRET", externalId="a", metadata={"who": "SECRET"})["id"]
    path = f"{dataset}/items/{item}"
    alice.patch(path, {"groundTruth": "SECRET"})
    before = alice.get(dataset).body
    assert alice.delete(f"{path}/purge").body["success"] is True
    after = alice.get(dataset).body
    assert (after["version"], after["digest"]) == (before["version"], before["digest"])
    purged = alice.get(path).body
    assert (purged["input"], purged["metadata"]) == (None, {"__purged": True})
    everything = [alice.get(f"{path}/history").body, alice.get(f"{dataset}/items", version=1).body]
    assert "SECRET" not in json.dumps([*everything, alice.get("/events", type="dataset.*").body])
    assert alice.patch(path, {"input": "new"}).status == 409
    assert alice.delete(path).status == 200


def test_the_digest_is_of_the_items_whatever_their_order(alice: Api) -> None:
    dataset = make_dataset(alice)
    empty = alice.get(dataset).body["digest"]
    item = add_item(alice, dataset)
    with_one = alice.get(dataset).body["digest"]
    path = f"{dataset}/items/{item['id']}"
    alice.patch(path, {"input": "Ho"})
    assert alice.get(dataset).body["digest"] not in {empty, with_one}
    alice.patch(path, {"input": "Hi"})
    assert alice.get(dataset).body["digest"] == with_one
    alice.delete(path)
    assert alice.get(dataset).body["digest"] == empty
    listed = alice.get(f"{dataset}/versions").body["versions"]
    assert [one["digest"] for one in listed][::3] == [empty, with_one]


WRONG: list[tuple[Any, ...]] = [
    ({}, ["input"]),
    ({"input": 1, "id": "x"}, ["id"]),
    ({"input": 1, "externalId": ""}, ["externalId"]),
    ({"input": 1, "externalId": "x" * 201}, ["externalId"]),
    ({"input": 1, "toolMocks": [{"toolName": "a"}]}, ["toolMocks.0.args", "toolMocks.0.output"]),
    ({"input": 1, "unmockedToolPolicy": "maybe"}, ["unmockedToolPolicy"]),
    ({"input": 1, "source": {"type": "hearsay"}}, ["source.type"]),
    ({"input": 1, "metadata": {"tags": "must"}}, ["metadata.tags"]),
]


def test_an_item_that_does_not_fit_is_refused_by_its_name(alice: Api) -> None:
    dataset = make_dataset(alice)
    for item, fields in WRONG:
        answer = alice.post(f"{dataset}/items", item)
        assert (answer.status, answer.fields) == (400, fields)
        batch = alice.post(f"{dataset}/items/batch", {"items": [{"input": 0}, item]})
        assert (batch.status, batch.fields) == (400, [f"items.1.{name}" for name in fields])
        assert version_of(alice, dataset) == 0


def test_schemas_refuse_items_and_items_refuse_schemas(alice: Api) -> None:
    dataset = make_dataset(alice, groundTruthSchema={"type": "integer"})
    refused = alice.post(f"{dataset}/items", {"input": "a", "groundTruth": "b"})
    assert (refused.status, refused.fields) == (400, ["groundTruth"])
    add_item(alice, dataset, input={"a": 1}, groundTruth=1)
    add_item(alice, dataset, input={"b": 1})
    schema = {"type": "object", "required": ["a"]}
    refused = alice.patch(dataset, {"inputSchema": schema})
    assert (refused.status, refused.fields) == (400, ["items.1.input.a"])
    [failing] = refused.body["failingItems"]
    assert (failing["index"], failing["field"], failing["data"]) == (1, "input", {"b": 1})
    assert alice.patch(dataset, {"groundTruthSchema": None}).status == 200


def test_sizes_are_limited(alice: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_dataset(alice)
    large = alice.post(f"{dataset}/items", {"input": "x" * 256 * 1024})
    assert (large.status, large.code) == (413, "payload_too_large")
    many = alice.post(f"{dataset}/items/batch", {"items": [{"input": 1}] * 1_001})
    assert (many.status, many.fields) == (400, ["items"])
    monkeypatch.setattr(verbs, "MAX_ITEMS", 2)
    assert alice.post(f"{dataset}/items/batch", {"items": [{"input": 1}] * 2}).status == 201
    over = alice.post(f"{dataset}/items", {"input": 1})
    assert (over.status, over.code) == (400, "too_many_items")


def test_items_are_found_by_their_text(alice: Api) -> None:
    dataset = make_dataset(alice)
    add_item(alice, dataset, input="About zebras")
    add_item(alice, dataset, input="b", groundTruth={"animal": "Zebra"})
    add_item(alice, dataset, input="c", externalId="zebra-3")
    add_item(alice, dataset, input="d")
    assert inputs(alice, dataset, search="zebra") == ["About zebras", "b", "c"]


def test_a_new_schema_fits_the_items_that_are_added_while_it_is_checked(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(alice)
    add_item(alice, dataset, input=1)
    check, late = verbs.refuse_by_schemas, ["no number"]

    def check_slowly(*arguments: Any) -> None:
        check(*arguments)
        if late:
            assert events._open.transaction is None  # otherwise all saves would be waiting
            add_item(alice, dataset, input=late.pop())

    monkeypatch.setattr(verbs, "refuse_by_schemas", check_slowly)
    refused = alice.patch(dataset, {"inputSchema": {"type": "integer"}})
    assert (refused.status, refused.fields) == (400, ["items.1.input"])
    assert "inputSchema" not in alice.get(dataset).body or alice.get(dataset).body["inputSchema"] is None


def test_no_request_says_that_an_item_was_purged(alice: Api) -> None:
    """Neither of a new item, nor of one that is there; only a purge does."""
    dataset = make_dataset(alice)
    item = add_item(alice, dataset)["id"]
    marked = {"input": "Hi", "metadata": {"__purged": True}}
    for answer in (
        alice.post(f"{dataset}/items", marked),
        alice.patch(f"{dataset}/items/{item}", {"metadata": {"__purged": True}}),
    ):
        assert (answer.status, answer.fields) == (400, ["metadata.__purged"])
