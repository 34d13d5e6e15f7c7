"""Scorers are stored, versioned resources, as prompt blocks are, with fields that fit their type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.schedules.conftest import ahead
from tests.support.api import AGENTS, SCORERS, Api
from tests.support.datasets import make_dataset
from tests.support.scorers import make_scorer
from tests.support.studio import Visitor

ROLES = ("alice", "paula", "edgar", "vera", "charlie")


def test_a_scorer_has_the_lifecycle_of_a_prompt_block(alice: Api, cast: Cast) -> None:
    url = SCORERS.url
    made = make_scorer(
        alice,
        description="The same words.",
        config={"value": "{{groundTruth}}", "ignoreCase": True},
        passIf={"min": 1},
        tie=0,
        scoreRange={"min": 0, "max": 1},
        defaultSampling={"type": "ratio", "rate": 0.5},
        presetConfig={"anything": [1]},
        appliesIf={"operator": "AND", "conditions": [{"field": "topic", "operator": "exists"}]},
    )
    assert (made["status"], made["type"], made["config"]["ignoreCase"]) == ("draft", "equals", True)
    assert [one["id"] for one in alice.get(SCORERS.path).body["scorerDefinitions"]] == ["exact"]
    assert cast.vera.get(url("exact")).status == 404
    SCORERS.publish(alice, "exact", made["resolvedVersionId"])
    saved = alice.patch(url("exact"), {"type": "contains", "config": {"values": ["thanks"]}}).body
    assert saved["hasDraft"] and cast.vera.get(url("exact")).body["type"] == "equals"
    newest, oldest = SCORERS.versions(alice, "exact")
    assert newest["scorerDefinitionId"] == "exact"
    assert newest["changedFields"] == ["type", "config"]
    compared = alice.get(url("exact", "versions", "compare"), **{"from": oldest["id"], "to": newest["id"]})
    assert [one["field"] for one in compared.body["diffs"]] == ["type", "config"]
    copy = alice.post(url("exact", "clone"), {"newId": "copy"})
    assert copy.status == 201 and copy.body["tie"] == 0
    assert alice.post(url("exact", "export"), {}).body["fileName"] == "scorers/exact.json"
    logged = alice.get("/events", type="scorer.*").body["events"]
    assert {"scorer.created", "scorer.published", "scorer.versionCreated"} <= {one["type"] for one in logged}


def test_a_scorer_is_reviewed_released_and_scheduled(alice: Api, cast: Cast) -> None:
    made = make_scorer(alice)
    resource = {"kind": "scorer", "id": "exact"}
    assert alice.put("/workspaces/acme/review-policy", {"required": 1}).status == 200
    release = cast.paula.post(
        "/releases", {"workspaceId": "acme", "title": "Autumn", "items": [{"resource": resource}]}
    ).body
    publish = f"/releases/{release['id']}/publish"
    assert cast.paula.post(publish).status == 409
    scheduled = cast.paula.post(
        "/schedules", {"resource": resource, "versionId": made["resolvedVersionId"], "runAt": ahead()}
    )
    assert (scheduled.status, scheduled.body["resource"]["kind"]) == (201, "scorer")
    assert [one["code"] for one in scheduled.body["problems"]] == ["review_required"]
    review = cast.edgar.post("/reviews", {"resource": resource}).body
    verdict = {"versionId": made["resolvedVersionId"], "verdict": "approve"}
    assert cast.paula.post(f"/reviews/{review['id']}/verdicts", verdict).status == 200
    assert cast.paula.get(f"/schedules/{scheduled.body['id']}").body["problems"] == []
    assert cast.paula.delete(f"/schedules/{scheduled.body['id']}").status in {200, 204}
    assert cast.paula.post(publish).status == 200
    assert cast.vera.get(SCORERS.url("exact")).status == 200


WRONG: list[tuple[Any, ...]] = [
    ({"type": "guess"}, ["type"]),
    ({"type": None}, ["type"]),
    ({"type": "equals", "config": {"values": ["a"]}}, ["config.values"]),
    ({"type": "contains"}, ["config.values"]),
    ({"type": "contains", "config": {"values": []}}, ["config.values"]),
    ({"type": "contains", "config": {"values": ["a"] * 51}}, ["config.values"]),
    ({"type": "contains", "config": {"values": ["a"], "mode": "some"}}, ["config.mode"]),
    ({"type": "regex", "config": {"pattern": "(?=a)"}}, ["config.pattern"]),
    ({"type": "regex", "config": {"pattern": r"(a)\1"}}, ["config.pattern"]),
    ({"type": "regex", "config": {"pattern": "a" * 1_001}}, ["config.pattern"]),
    ({"type": "jsonSchema", "config": {"schema": {"type": "nothing"}}}, ["config.schema.type"]),
    ({"type": "jsonSchema", "config": {"schema": {"$ref": "http://a/b"}}}, ["config.schema.$ref"]),
    ({"type": "numeric", "config": {"tolerance": -1}}, ["config.tolerance"]),
    ({"type": "similarity", "config": {"algorithm": "cosine"}}, ["config.algorithm"]),
    ({"type": "calledTool", "config": {"not": True}}, ["config.name"]),
    ({"type": "maxTokens", "config": {"value": 0}}, ["config.value"]),
    (
        {"type": "llm-judge", "config": {"choices": [{"label": "a", "score": 1, "passes": True}]}},
        ["config.choices"],
    ),
    (
        {"type": "llm-judge", "config": {"choices": [{"label": "a", "score": 1, "passes": True}] * 2}},
        ["config.choices"],
    ),
    ({"type": "llm-judge", "model": {"provider": "openai", "name": "http://a"}}, ["model.name"]),
    ({"type": "code", "config": {}}, ["config.name"]),
    ({"type": "external", "config": {"value": 1}}, ["config.value"]),
    ({"type": "bias", "config": {"value": 1}}, ["config"]),
    ({"type": "equals", "scoreRange": {"min": 2}}, ["scoreRange.max"]),
    ({"type": "equals", "passIf": {"min": 1, "max": 0}}, ["passIf.max"]),
    ({"type": "equals", "tie": -1}, ["tie"]),
    ({"type": "equals", "defaultSampling": {"type": "ratio", "rate": 2}}, ["defaultSampling.rate"]),
    ({"type": "equals", "id": "a/try"}, ["id"]),
    ({"type": "equals", "instructions": 1, "content": "x"}, ["content", "instructions"]),
]


def test_what_does_not_fit_is_refused_by_its_name(alice: Api) -> None:
    for given, fields in WRONG:
        answer = alice.post(SCORERS.path, {"id": "wrong", "name": "Wrong", "workspaceId": "acme", **given})
        assert (answer.status, answer.fields) == (400, fields)
        assert alice.get(SCORERS.url("wrong"), status="draft").status == 404


def test_a_change_of_the_type_needs_settings_of_that_type(alice: Api) -> None:
    make_scorer(alice, config={"value": "yes"})
    answer = alice.patch(SCORERS.url("exact"), {"type": "regex"})
    assert (answer.status, answer.fields) == (400, ["config.pattern", "config.value"])
    saved = alice.patch(SCORERS.url("exact"), {"type": "regex", "config": {"pattern": "^yes"}})
    assert (saved.status, saved.body["type"]) == (200, "regex")


def test_a_scorer_of_another_runtime_is_kept_as_given(alice: Api) -> None:
    judge = make_scorer(alice, "judge", "llm-judge", instructions="Judge.")
    preset = make_scorer(alice, "polite", "toxicity", presetConfig={"scale": 1})
    assert "config" not in judge and preset["presetConfig"] == {"scale": 1}


def test_its_dependents_are_the_agents_that_name_it(alice: Api, cast: Cast) -> None:
    make_scorer(alice)
    variants = [{"value": {"exact": {}, "x" * 300: {}}}, {"value": {"other": {}}}]
    AGENTS.make(alice, "writer", scorers=variants, autoPublish=True)
    AGENTS.make(alice, "reader")
    AGENTS.save(alice, "reader", "two")
    alice.patch(AGENTS.url("reader"), {"scorers": {"exact": {"sampling": {"type": "none"}}}})
    found = {
        status: alice.get(SCORERS.url("exact", "dependents"), status=status).body["dependents"]
        for status in ("published", "draft")
    }
    writer = {"id": "writer", "name": "Writer", "kind": "agent"}
    assert found["published"] == [writer]
    assert [one["id"] for one in found["draft"]] == ["reader", "writer"]
    refused = alice.request("DELETE", SCORERS.url("exact"), query={"ifUnused": "true"})
    assert (refused.status, refused.code) == (409, "in_use")
    assert [one["id"] for one in refused.body["dependents"]] == ["writer"]
    assert cast.charlie.get(SCORERS.url("exact", "dependents")).status == 404


def test_datasets_that_score_with_it_are_among_its_dependents(alice: Api, cast: Cast) -> None:
    make_scorer(alice)
    path = SCORERS.url("exact", "dependents")
    assert cast.vera.get(path).status == 404
    assert alice.get(path).body["dependents"] == []
    make_dataset(alice, "Others", description='Not "exact"')
    dataset = make_dataset(alice, scorerIds=["exact"])
    SCORERS.publish(alice, "exact", alice.get(SCORERS.url("exact"), status="draft").body["latestVersionId"])
    assert alice.get(path).body["dependents"] == [
        {"id": dataset.removeprefix("/datasets/"), "name": "Questions", "kind": "dataset"}
    ]
    assert cast.vera.get(path).body["dependents"] == []
    alice.patch(dataset, {"scorerIds": None})
    assert alice.get(path).body["dependents"] == []


@pytest.mark.parametrize("kind", ["dataset", "gate"])
def test_a_scorer_that_a_dataset_or_a_gate_names_is_in_use(alice: Api, kind: str) -> None:
    make_scorer(alice, autoPublish=True)
    AGENTS.make(alice, "writer", autoPublish=True)
    dataset = make_dataset(alice, **({"scorerIds": ["exact"]} if kind == "dataset" else {}))
    if kind == "gate":
        body = {
            "resource": {"kind": "agent", "id": "writer"},
            "datasetId": dataset.removeprefix("/datasets/"),
            "scorerIds": ["exact"],
            "rules": [{"rule": "notWorse"}],
        }
        assert alice.post("/gates", body).status == 201
    [dependent] = alice.get(SCORERS.url("exact", "dependents")).body["dependents"]
    refused = alice.request("DELETE", SCORERS.url("exact"), query={"ifUnused": "true"})
    assert (refused.status, refused.code) == (409, "in_use")
    assert refused.body["dependents"] == [dependent] and dependent["kind"] == kind
    page = Visitor("alice").get("/studio/evaluation/scorer/exact/delete/")
    assert f"In use by {dependent['name']}." in page.words
    assert alice.request("DELETE", SCORERS.url("exact")).status == 200


def test_a_viewer_may_read_a_published_scorer_and_not_try_it(cast: Cast, alice: Api) -> None:
    make_scorer(alice, autoPublish=True)
    assert cast.vera.get(SCORERS.url("exact")).status == 200
    assert cast.vera.post(f"{SCORERS.url('exact')}/try", {"input": "", "output": ""}).status == 403
