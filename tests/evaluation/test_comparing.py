"""Comparing experiments over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.evaluation.experiments.models import Experiment, Score
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.experiments import make_experiment, results, submit
from tests.support.gates import evidence, finish, make_scored_dataset, start


@pytest.fixture
def dataset(cast: Cast) -> str:
    made = AGENTS.make(cast.edgar)
    AGENTS.publish(cast.alice, "writer", made["latestVersionId"])
    AGENTS.save(cast.edgar)
    return make_scored_dataset(cast.alice, 20)


@pytest.mark.database
def test_an_experiment_is_compared_with_its_baseline(cast: Cast, dataset: str) -> None:
    here = start(cast.edgar, dataset, selector={"status": "draft"}, baseline="published")
    baseline = Experiment.objects.get(pk=here).pair_of_id
    assert baseline is not None
    finish(here, lambda number: number > 7)
    finish(baseline, lambda number: number != 19)
    compare = f"{dataset}/experiments/{here}/compare"
    found = cast.edgar.get(compare, perPage=9).body
    assert (found["pairs"], found["notContemporary"]) == (20, False)
    assert found["leftOut"] == dict.fromkeys(
        ("onlyHere", "onlyBaseline", "changedItems", "errors", "notScorable"), 0
    )
    [scorer] = found["scorers"]
    assert (scorer["scorerId"], scorer["primary"], scorer["verdict"]) == ("exact", True, "worse")
    assert (scorer["wins"], scorer["losses"], scorer["ties"], scorer["detectable"]) == (1, 8, 11, 42)
    assert scorer["p"] == pytest.approx(0.0390625)
    assert scorer["interval"] == pytest.approx([-0.582053, -0.054310], abs=1e-6)
    assert found["pagination"] == {"total": 20, "page": 0, "perPage": 9, "hasMore": True}
    assert [one["outcome"] for one in found["items"]] == ["loss"] * 8 + ["tie"]
    assert found["items"][0].keys() == {"itemId", "outcome", "difference", "here", "baseline"}
    lost = results(cast.edgar, f"{dataset}/experiments/{here}", outcome="loss")
    assert {one["itemId"] for one in lost} == {one["itemId"] for one in found["items"][:8]}
    assert results(cast.edgar, f"{dataset}/experiments/{here}", outcome="error") == []
    assert len(results(cast.edgar, f"{dataset}/experiments/{baseline}", outcome="win", baseline=here)) == 8
    assert cast.edgar.get(f"{dataset}/experiments/{here}/results", outcome="best").status == 400
    for run in (here, baseline):
        score = {"scorerId": "theirs", "runId": run, "entityId": found["items"][0]["itemId"], "score": 1}
        assert cast.edgar.post("/scores", {"score": score}).status == 201
    assert [one["scorerId"] for one in cast.edgar.get(compare).body["scorers"]] == ["exact", "theirs"]
    turned = cast.edgar.get(f"{dataset}/experiments/{baseline}/compare", baseline=here).body
    assert turned["scorers"][0]["verdict"] == "better"
    for api, status in ((cast.vera, 404), (cast.charlie, 404)):
        assert api.get(compare).status == status
    assert cast.edgar.get(f"{dataset}/experiments/{baseline}/compare").fields == ["baseline"]
    assert cast.edgar.get(compare, baseline="nothing").fields == ["baseline"]
    assert cast.edgar.get(compare, perPage=1001).status == 400


def test_an_item_that_changed_in_between_is_in_no_pair(cast: Cast, dataset: str) -> None:
    before = evidence(cast.edgar, dataset)
    first, second = cast.edgar.get(f"{dataset}/items", perPage=2).body["items"]
    cast.edgar.patch(f"{dataset}/items/{first['id']}", {"groundTruth": "Otherwise"})
    cast.edgar.patch(f"{dataset}/items/{second['id']}", {"metadata": {"tags": ["new"]}})
    here = evidence(cast.edgar, dataset)
    found = cast.edgar.get(f"{dataset}/experiments/{here}/compare", baseline=before).body
    assert (found["pairs"], found["leftOut"]["changedItems"]) == (19, 1)


def test_what_an_application_sent_is_compared_as_it_was_sent(cast: Cast, dataset: str) -> None:
    items = [one["id"] for one in cast.edgar.get(f"{dataset}/items", perPage=3).body["items"]]
    made: list[Any] = []
    for value in (0.2, 0.9):
        experiment = make_experiment(cast.edgar, dataset)
        for item in items:
            sent: dict[str, Any] = {"scores": [{"scorerId": "own", "score": value}]}
            if item == items[0]:
                sent["input"] = f"Asked at {value}"
            submit(cast.edgar, experiment, item, **sent)
        made.append(experiment)
    found = cast.edgar.get(f"{made[1]}/compare", baseline=made[0].rpartition("/")[2]).body
    assert (found["leftOut"]["changedItems"], found["pairs"]) == (1, 2)
    assert [(one["scorerId"], one["wins"]) for one in found["scorers"]] == [("own", 2)]


def test_results_with_an_error_and_flaky_items_are_found(cast: Cast, dataset: str) -> None:
    items = [one["id"] for one in cast.edgar.get(f"{dataset}/items", perPage=3).body["items"]]
    experiment = make_experiment(cast.edgar, dataset, scorerIds=None, attempts=2)
    for attempt in range(2):
        submit(cast.edgar, experiment, items[0], None, attempt=attempt, error={"message": "It broke"})
        submit(cast.edgar, experiment, items[1], "x", attempt=attempt, scores=[{"scorerId": "a", "score": 1}])
    assert [one["itemId"] for one in results(cast.edgar, experiment, outcome="error")] == [items[0]] * 2
    assert results(cast.edgar, experiment, outcome="flaky") == []
    Score.objects.filter(cell__item_id=items[1], cell__attempt=0).update(passed=True)
    Score.objects.filter(cell__item_id=items[1], cell__attempt=1).update(passed=False)
    assert [one["attempt"] for one in results(cast.edgar, experiment, outcome="flaky")] == [0, 1]
