"""Experiments whose results an application sends: what they pin, what is counted, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.evaluation.experiments import starting
from capabilities.evaluation.experiments.models import Experiment
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.experiments import make_experiment, results, submit
from tests.support.people import key_of
from tests.support.scorers import make_scorer


@pytest.fixture
def dataset(alice: Api) -> str:
    """A dataset with two items and a scorer."""
    make_scorer(alice, "exact")
    dataset = make_dataset(alice, scorerIds=["exact"])
    for number in range(2):
        add_item(alice, dataset, input=f"Question {number}", groundTruth=f"Answer {number}")
    return dataset


def items(alice: Api, dataset: str) -> list[str]:
    """Return the ids of its items, oldest first."""
    answer = alice.get(f"{dataset}/items", **{"orderBy[direction]": "ASC"})
    return [one["id"] for one in answer.body["items"]]


@pytest.mark.database
def test_results_that_are_sent_are_scored_and_summed_up(alice: Api, dataset: str) -> None:
    """The pinned scorers score what is sent; the summary has the rate with its interval."""
    experiment = make_experiment(alice, dataset, name="By hand")
    first, second = items(alice, dataset)
    sent = submit(alice, experiment, first, "Answer 0")
    assert [one["passed"] for one in sent["scores"]] == [True]
    submit(alice, experiment, second, "Something else")
    body = alice.get(experiment).body
    assert body["status"] == "running"
    assert body["counts"] == {
        "cells": 2, "done": 2, "errors": 0, "skipped": 0, "queued": 0, "notScorable": 0
    }  # fmt: skip
    assert body["summary"] == [
        {
            "scorerId": "exact",
            "n": 2,
            "passed": 1,
            "passRate": 0.5,
            "interval": pytest.approx([0.094531, 0.905469], abs=1e-6),
            "mean": 0.5,
            "flaky": 0,
            "errors": 0,
            "notScorable": 0,
        }
    ]
    ended = alice.post(f"{experiment}/finalize", {}).body
    assert (ended["status"], ended["outcome"], ended["succeededCount"]) == ("completed", "complete", 2)
    assert alice.post(f"{experiment}/finalize", {}).body == ended
    late = alice.post(f"{experiment}/results", {"itemId": first, "output": "x"})
    assert (late.status, late.code) == (409, "experiment_ended")


LARGEST = 2.0**53 - 1
SIZES = {
    "large": [LARGEST, -LARGEST, LARGEST],
    "tiny": [5e-324, -5e-324, 1e-200],
    "both": [LARGEST, 1e-200, 0],
    "equal": [LARGEST] * 3,
}


@pytest.mark.parametrize("scores", SIZES.values(), ids=SIZES)
def test_scores_of_any_size_are_summed_up_and_compared(alice: Api, scores: list[float]) -> None:
    dataset = make_dataset(alice)
    names = [add_item(alice, dataset, input=f"Question {number}")["id"] for number in range(12)]
    here, baseline = (make_experiment(alice, dataset) for _ in range(2))
    for number, name in enumerate(names):
        for experiment, value in ((here, scores[number % 3]), (baseline, scores[(number + 1) % 3])):
            submit(alice, experiment, name, scores=[{"scorerId": "theirs", "score": value}])
    for experiment in (here, baseline):
        assert alice.post(f"{experiment}/finalize", {}).status == 200
        assert alice.get(experiment).status == 200
    assert alice.get(f"{dataset}/experiments").status == 200
    compared = alice.get(f"{here}/compare", baseline=baseline.rpartition("/")[2])
    assert (compared.status, compared.body["pairs"]) == (200, 12)


@pytest.mark.parametrize("value", [2**53, -(2**53), 1.7e308, 10**400])
def test_scores_that_sums_could_not_hold_are_refused(alice: Api, dataset: str, value: float) -> None:
    experiment, item = make_experiment(alice, dataset), items(alice, dataset)[0]
    score = {"scorerId": "theirs", "score": value}
    answer = alice.post(f"{experiment}/results", {"itemId": item, "output": "x", "scores": [score]})
    assert answer.fields == ["scores.0.score"]
    sent = {**score, "runId": experiment.rpartition("/")[2], "entityId": item}
    assert alice.post("/scores", {"score": sent}).fields == ["score.score"]
    choices = [{"label": "yes", "score": value, "passes": True}, {"label": "no", "score": 0, "passes": False}]
    judge = {"name": "Judge", "type": "llm-judge", "config": {"choices": choices}}
    assert alice.post("/stored/scorers", judge).fields == ["config.choices.0.score"]
    limits = {"name": "Limits", "type": "similarity", "scoreRange": {"min": 0, "max": value}}
    assert alice.post("/stored/scorers", limits).fields == ["scoreRange.max"]


NO_TIMES = ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "yesterday"]


@pytest.mark.parametrize("time", NO_TIMES)
def test_times_that_utc_cannot_express_are_refused(alice: Api, dataset: str, time: str) -> None:
    experiment, item = make_experiment(alice, dataset), items(alice, dataset)[0]
    for member in ("startedAt", "completedAt"):
        answer = alice.post(f"{experiment}/results", {"itemId": item, "output": "x", member: time})
        assert answer.fields == [member]
    key = {"name": "k", "workspaceId": "acme", "expiresAt": time}
    assert alice.post("/keys", key).fields == ["expiresAt"]


def test_a_result_takes_the_place_of_an_earlier_one(alice: Api, dataset: str) -> None:
    """The same item and attempt is one result; its scores are those of the newest output."""
    experiment = make_experiment(alice, dataset)
    first = items(alice, dataset)[0]
    submit(alice, experiment, first, None, error={"message": "It broke", "code": "boom"})
    assert alice.get(experiment).body["counts"]["errors"] == 1
    submit(alice, experiment, first, "Answer 0")
    [result] = results(alice, experiment)
    assert (result["output"], result["error"], result["scores"][0]["score"]) == ("Answer 0", None, 1)
    counts = alice.get(experiment).body["counts"]
    assert (counts["done"], counts["errors"], counts["queued"]) == (1, 0, 1)


def test_attempts_count_as_one_item(alice: Api, dataset: str) -> None:
    """An item that passes in some attempts is flaky, and counts for half."""
    experiment = make_experiment(alice, dataset, attempts=2)
    first, second = items(alice, dataset)
    for item, outputs in ((first, ["Answer 0", "no"]), (second, ["Answer 1", "Answer 1"])):
        for attempt, output in enumerate(outputs):
            submit(alice, experiment, item, output, attempt=attempt)
    [summary] = alice.get(experiment).body["summary"]
    assert (summary["n"], summary["passed"], summary["flaky"]) == (2, 1, 1)
    assert summary["passRate"] == 0.75


def test_only_the_beginning_of_a_long_output_is_kept(alice: Api, dataset: str) -> None:
    """32 KiB are kept, with the digest of the whole; what was scored is the whole."""
    experiment = make_experiment(alice, dataset)
    submit(alice, experiment, items(alice, dataset)[0], "ä" * 40_000)
    [result] = results(alice, experiment)
    assert (len(result["output"].encode()), result["outputCut"]) == (32 * 1024, True)
    assert len(result["outputDigest"]) == 64


def test_versions_are_pinned(alice: Api, dataset: str) -> None:
    """Edits of the dataset and of a scorer change nothing of an experiment."""
    experiment = make_experiment(alice, dataset)
    before = alice.get(experiment).body
    [first, _] = items(alice, dataset)
    assert alice.patch(f"{dataset}/items/{first}", {"groundTruth": "Another"}).status == 200
    assert alice.patch(SCORERS.url("exact"), {"config": {"value": "zzz"}}).status == 200
    assert submit(alice, experiment, first, "Answer 0")["scores"][0]["passed"] is True
    assert submit(alice, experiment, first, "Answer 0")["groundTruth"] == "Answer 0"
    after = alice.get(experiment).body
    for name in ("datasetVersion", "datasetDigest", "scorers"):
        assert after[name] == before[name]


def test_the_target_is_locked(alice: Api, dataset: str) -> None:
    """An agent is pinned in the version that is selected, with the digest of its lock."""
    made = AGENTS.make(alice, model={"provider": "echo", "name": "echo"}, scorers={"exact": {}})
    named = {"targetType": "agent", "targetId": "writer"}
    draft = alice.get(make_experiment(alice, dataset, **named, selector={"status": "draft"})).body
    assert draft["agentVersion"] == made["latestVersionId"] == draft["lock"]["agents"]["writer"]["versionId"]
    assert draft["lockDigest"] == draft["lock"]["digest"]
    again = alice.get(make_experiment(alice, dataset, **named, lock=draft["lock"])).body
    assert again["lockDigest"] == draft["lockDigest"]
    sent = alice.post(f"{dataset}/experiments/{draft['id']}/results", {"itemId": items(alice, dataset)[0]})
    assert (sent.status, sent.fields) == (400, ["itemId"])


def test_a_key_that_is_limited_to_ids_knows_no_experiments_and_scores_of_others(
    alice: Api, dataset: str
) -> None:
    """An experiment without a target is no agent's."""
    for agent in ("writer", "team/a"):
        AGENTS.make(alice, agent, model={"provider": "echo", "name": "echo"}, autoPublish=True)
    outside = make_experiment(alice, dataset, targetType="agent", targetId="writer")
    inside = make_experiment(alice, dataset, targetType="agent", targetId="team/a")
    own = make_experiment(alice, dataset)
    score = {"scorerId": "team/s", "entityType": "AGENT", "score": 1, "source": "LIVE"}
    for entity in ("writer", "team/a"):
        sent = {**score, "runId": "r", "entityId": entity}
        assert alice.post("/scores", {"score": sent, "workspaceId": "acme"}).status == 201
    team = key_of("alice", workspace="acme", id_prefix="team/")
    assert [team.get(one).status for one in (outside, inside, own)] == [404, 200, 404]
    assert team.get("/experiments").body["pagination"]["total"] == 1
    for path, count in (("run/r", 1), ("entity/AGENT/writer", 0)):
        assert team.get(f"/scores/{path}").body["pagination"]["total"] == count, path


WRONG: list[tuple[Any, ...]] = [
    ({}, ["targetType"]),
    ({"start": False, "targetType": "agent"}, ["targetId"]),
    ({"start": False, "targetId": "writer"}, ["targetType"]),
    ({"start": False, "scorerIds": ["exact"]}, ["scorerIds"]),
    ({"start": False, "lock": {}, "selector": {}}, ["lock", "selector"]),
    ({"start": False, "version": 9}, ["version"]),
    ({"start": False, "attempts": 21}, ["attempts"]),
    ({"start": False, "primaryScorer": "other"}, ["primaryScorer"]),
    ({"start": False, "baseline": "nothing"}, ["baseline"]),
    ({"start": False, "unknown": 1}, ["unknown"]),
    ({"id": "mine"}, ["id"]),
]


def test_what_is_wrong_is_named(alice: Api, dataset: str) -> None:
    """Each problem names its member."""
    for members, fields in WRONG:
        answer = alice.post(f"{dataset}/experiments", members)
        assert (answer.status, answer.fields) == (400, fields), answer.body


def test_a_dataset_without_items_has_nothing_to_run(alice: Api) -> None:
    """There is nothing to evaluate with."""
    answer = alice.post(f"{make_dataset(alice)}/experiments", {"start": False})
    assert (answer.status, answer.code) == (400, "no_items")


def test_the_id_can_be_chosen(alice: Api, dataset: str) -> None:
    """The same again is the same experiment; another with the id is refused."""
    given = {"start": False, "id": "nightly-7"}
    assert [alice.post(f"{dataset}/experiments", given).status for _ in range(2)] == [201, 200]
    other = make_dataset(alice, "Other")
    add_item(alice, other)
    answer = alice.post(f"{other}/experiments", given)
    assert (answer.status, answer.code) == (409, "id_taken")


@pytest.mark.database
def test_an_id_that_is_taken_elsewhere_tells_nothing(cast: Cast, dataset: str) -> None:
    """An id is unique in a dataset: what a caller may not read makes no difference."""
    given = {"start": False, "id": "nightly-7"}
    assert cast.alice.post(f"{dataset}/experiments", given).status == 201
    own = make_dataset(cast.charlie, "Theirs", workspaceId="elsewhere")
    add_item(cast.charlie, own, input="one")
    hidden = cast.charlie.post(f"{dataset}/experiments", given)
    assert (hidden.status, hidden.code) == (404, "not_found")
    assert cast.charlie.post(f"{own}/experiments", {**given, "dryRun": True}).status == 200
    answers = [cast.charlie.post(f"{own}/experiments", given) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 200]
    made = answers[0]
    assert made.body["id"] == made.body["experimentId"] == "nightly-7"
    assert made.headers["Location"] == f"/api{own}/experiments/nightly-7"
    assert cast.charlie.post(
        f"{own}/experiments", {**given, "targetType": "agent", "targetId": "x"}
    ).status in {
        404,
        409,
    }
    [item] = items(cast.charlie, own)
    experiment = f"{own}/experiments/nightly-7"
    result = {"itemId": item, "output": "1", "scores": [{"scorerId": "exact", "score": 1}]}
    answer = cast.charlie.post(f"{experiment}/results", result)
    assert (answer.status, answer.body["experimentId"]) == (201, "nightly-7"), answer.body
    label = {"experimentId": "nightly-7", "itemId": item, "name": "good", "value": True}
    assert cast.charlie.post("/labels", label).body["experimentId"] == "nightly-7"
    assert len(cast.charlie.get("/labels", experimentId="nightly-7").body["labels"]) == 1
    [score] = cast.charlie.get("/scores/run/nightly-7").body["scores"]
    assert score["runId"] == "nightly-7"
    score = {
        "scorerId": "people",
        "runId": "nightly-7",
        "entityId": item,
        "score": 0.8,
        "scorer": {},
        "entity": {},
    }
    assert cast.charlie.post("/scores", {"score": score}).status == 201
    for address in (experiment, "/experiments/nightly-7"):
        found = cast.charlie.get(address).body
        assert (found["workspaceId"], found["datasetId"]) == ("elsewhere", own.rpartition("/")[2])
    assert cast.alice.get("/experiments/nightly-7").body["workspaceId"] == "acme"
    assert [one["id"] for one in cast.charlie.get("/experiments").body["experiments"]] == ["nightly-7"]
    second = cast.charlie.post(f"{own}/experiments", {"start": False, "baseline": "nightly-7"}).body
    assert second["pairOf"] == "nightly-7"
    both = {"experimentIdA": "nightly-7", "experimentIdB": second["id"]}
    assert cast.charlie.post(f"{own}/compare", both).body["baselineId"] == "nightly-7"
    compared = cast.charlie.get(f"{own}/experiments/{second['id']}/compare", baseline="nightly-7")
    assert compared.status == 200, compared.body
    told = [
        one["detail"]["experimentId"]
        for one in cast.charlie.get("/events", type="experiment.*").body["events"]
    ]
    assert set(told) == {"nightly-7", second["id"]}
    # Who reads both names the dataset.
    for address in ("/experiments/nightly-7",):
        for answer in (cast.root.get(address), cast.root.delete(address), cast.root.post("/labels", label)):
            assert (answer.status, answer.code) == (409, "ambiguous_id")
    assert cast.root.get(experiment).body["workspaceId"] == "elsewhere"
    assert cast.root.delete(f"{dataset}/experiments/nightly-7").status == 200
    assert cast.root.get("/experiments/nightly-7").body["workspaceId"] == "elsewhere"


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_an_id_that_is_taken_meanwhile_is_not_taken_twice(
    cast: Cast, dataset: str, monkeypatch: pytest.MonkeyPatch, *, is_elsewhere: bool
) -> None:
    """Another request with the id commits between the look-up and the insert."""
    given = {"start": False, "id": "nightly-7"}
    find = starting.known_by_id
    api, other = cast.alice, dataset
    if is_elsewhere:
        api, other = cast.charlie, make_dataset(cast.charlie, "Theirs", workspaceId="elsewhere")
        add_item(api, other, input="one")

    def found_late(*arguments: Any) -> Experiment | None:
        monkeypatch.setattr(starting, "known_by_id", find)
        found = find(*arguments)
        assert api.post(f"{other}/experiments", given).status == 201
        return found

    monkeypatch.setattr(starting, "known_by_id", found_late)
    answer = cast.alice.post(f"{dataset}/experiments", given)
    assert (answer.status, answer.body["id"]) == (201 if is_elsewhere else 200, "nightly-7")
    assert Experiment.objects.count() == (2 if is_elsewhere else 1)


def test_a_chosen_id_is_not_too_long(alice: Api, dataset: str) -> None:
    """There is room for what tells those of other datasets apart."""
    for length, status in ((160, 201), (161, 400)):
        answer = alice.post(f"{dataset}/experiments", {"start": False, "id": "x" * length})
        assert answer.status == status
    assert answer.fields == ["id"]


def test_scores_are_sent_for_items_and_for_own_runs(alice: Api, dataset: str) -> None:
    """A score of an item belongs to its result; others stand for themselves."""
    make_scorer(alice, "people", "external")
    alice.patch(dataset, {"scorerIds": ["people"]})
    experiment = make_experiment(alice, dataset)
    run, [item, _] = experiment.rpartition("/")[2], items(alice, dataset)
    score = {"scorerId": "people", "runId": run, "entityId": item, "score": 0.8, "scorer": {}, "entity": {}}
    early = alice.post("/scores", {"score": score})
    assert (early.status, early.fields) == (400, ["entityId"])
    submit(alice, experiment, item)
    assert alice.post("/scores", {"score": score}).body["score"]["passed"] is True
    assert results(alice, experiment)[0]["scores"][0]["score"] == 0.8
    own = {**score, "runId": "my-run", "entityId": "writer", "entityType": "AGENT", "source": "LIVE"}
    assert alice.post("/scores", {"score": own, "workspaceId": "acme"}).status == 201
    for path, count in (
        (f"/scores/run/{run}", 1),
        ("/scores/run/my-run", 1),
        ("/scores/scorer/people", 2),
        ("/scores/entity/AGENT/writer", 1),
    ):
        assert alice.get(path).body["pagination"]["total"] == count, path


def test_results_are_filtered_by_scores_and_item(alice: Api, dataset: str) -> None:
    experiment = make_experiment(alice, dataset)
    first, second = items(alice, dataset)
    good = submit(alice, experiment, first, "Answer 0")
    bad = submit(alice, experiment, second, "x", scores=[{"scorerId": "people", "score": 1}])
    for query, found in (
        ({"passed": "true"}, [good]),
        ({"passed": "false"}, [bad]),
        ({"scorerId": "people"}, [bad]),
        ({"scorerId": "people", "passed": "false"}, []),
        ({"scorerId": "exact", "passed": "true", "itemId": second}, []),
        ({"itemId": first}, [good]),
        ({"itemId": "none"}, []),
    ):
        assert [one["id"] for one in results(alice, experiment, **query)] == [one["id"] for one in found]


def test_people_review_results(alice: Api, dataset: str) -> None:
    """State, tags and comment stay with the result, and are counted."""
    experiment = make_experiment(alice, dataset)
    first, second = (submit(alice, experiment, item) for item in items(alice, dataset))
    changes = {"status": "needs-review", "tags": ["tone"], "comment": "Too short"}
    answer = alice.patch(f"{experiment}/results/{first['id']}", changes)
    assert {name: answer.body[name] for name in changes} == changes
    assert alice.patch(f"{experiment}/results/{second['id']}", {"status": "reviewed"}).status == 200
    assert alice.get("/experiments/review-summary").body["counts"] == [
        {
            "experimentId": experiment.rpartition("/")[2],
            "total": 2,
            "needsReview": 1,
            "reviewed": 1,
            "complete": 0,
        }
    ]
    assert [one["id"] for one in results(alice, experiment, tags="tone")] == [first["id"]]


def test_experiments_outlive_their_dataset(alice: Api, dataset: str) -> None:
    """The numbers stay; what was asked goes with the dataset."""
    experiment = make_experiment(alice, dataset)
    submit(alice, experiment, items(alice, dataset)[0])
    assert alice.delete(dataset).status == 200
    body = alice.get(f"/experiments/{experiment.rpartition('/')[2]}").body
    assert (body["datasetId"], body["counts"]["done"]) == (None, 1)
    assert alice.get("/experiments").body["pagination"]["total"] == 1


def test_an_experiment_is_described_and_deleted(alice: Api, dataset: str) -> None:
    """Name, description and metadata change; a deleted one is gone with its results."""
    experiment = make_experiment(alice, dataset)
    body = alice.patch(experiment, {"name": "Nightly", "metadata": {"a": 1}}).body
    assert (body["name"], body["metadata"]) == ("Nightly", {"a": 1})
    assert alice.delete(experiment).status == 200
    assert alice.get(experiment).status == 404


def test_purging_an_item_removes_what_was_answered(alice: Api, dataset: str) -> None:
    """Neither the input nor the output of a purged item is left in results."""
    experiment = make_experiment(alice, dataset)
    first, second = items(alice, dataset)
    for item in (first, second):
        submit(alice, experiment, item, "private")
    assert alice.delete(f"{dataset}/items/{first}/purge").status == 200
    found = {one["itemId"]: one for one in results(alice, experiment)}
    assert (found[first]["input"], found[first]["output"]) == (None, None)
    assert found[first]["scores"][0]["passed"] is False
    assert found[second]["output"] == "private"


def test_people_label_results_and_scorers_are_compared_with_them(alice: Api, dataset: str) -> None:
    """A person has one say under a name; agreement counts those about whether a scorer passes."""
    experiment = make_experiment(alice, dataset)
    first, second = items(alice, dataset)
    submit(alice, experiment, first, "Answer 0")
    submit(alice, experiment, second, "wrong")
    agreement = "/stored/scorers/exact/agreement"
    nothing = {"n": 0, "agree": None, "kappa": None, "majority": None}
    assert alice.get(agreement).body == nothing
    about = {"experimentId": experiment.rpartition("/")[2], "name": "exact"}
    for item, value in ((first, False), (first, True), (second, True)):
        assert alice.post("/labels", {**about, "itemId": item, "value": value}).status == 201
    assert alice.get("/labels", name="exact").body["pagination"]["total"] == 2
    assert alice.get(agreement).body == {"n": 2, "agree": 0.5, "kappa": 0.0, "majority": 1.0}
    unknown = alice.post("/labels", {**about, "itemId": "none", "value": True})
    assert (unknown.status, unknown.fields) == (400, ["itemId"])


def test_pinned_versions_are_kept_until_it_ends(alice: Api, dataset: str, settings: Any) -> None:
    """They are neither pruned nor deleted: those of the target, of its block and of the scorers."""
    tone = PROMPT_BLOCKS.make(alice, "tone")
    PROMPT_BLOCKS.publish(alice, "tone", tone["latestVersionId"])
    AGENTS.make(alice, instructions=[{"type": "prompt_block_ref", "id": "tone"}])
    target = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
    experiment = make_experiment(alice, dataset, **target)
    pinned = [
        AGENTS.url("writer", "versions", alice.get(experiment).body["agentVersion"]),
        PROMPT_BLOCKS.url("tone", "versions", tone["latestVersionId"]),
        SCORERS.url("exact", "versions", alice.get(experiment).body["scorers"][0]["versionId"]),
    ]
    settings.EDITOR_KEEP_VERSIONS = 1
    for resources, name in ((AGENTS, "writer"), (PROMPT_BLOCKS, "tone"), (SCORERS, "exact")):
        for number in range(2):
            assert alice.patch(resources.url(name), {"description": f"Change {number}"}).status == 200
    PROMPT_BLOCKS.publish(alice, "tone", PROMPT_BLOCKS.versions(alice, "tone")[0]["id"])
    for version in pinned:
        refused = alice.delete(version)
        assert (refused.status, refused.code) == (400, "version_in_use"), version
        assert "experiment" in str(refused.body)
    assert alice.post(f"{experiment}/cancel", {}).status == 200
    assert [alice.delete(version).status for version in pinned] == [200, 200, 200]
