"""Experiments that an application drives: each item runs when it says so."""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.evaluation.experiments import running
from capabilities.evaluation.experiments.models import Cell
from tests.evaluation.test_running import ECHO, OPENAI, make_questions, model, usual_pace, work
from tests.runtime.model_server import Fails, ModelServer, Reply, Says
from tests.support.api import AGENTS, Answer, Api
from tests.support.experiments import make_experiment, results

__all__ = ["model", "usual_pace"]


def items(api: Api, dataset: str) -> list[str]:
    return [one["id"] for one in api.get(f"{dataset}/items").body["items"]]


def driven(api: Api, dataset: str, **members: Any) -> str:
    """Make an experiment with the draft of `writer` that no worker runs."""
    target = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
    return make_experiment(api, dataset, **target, **members)


def run(api: Api, experiment: str, item: str, **body: Any) -> Answer:
    return api.post(f"{experiment}/items/{item}/run", body)


def test_an_item_runs_once_and_what_failed_runs_again(
    alice: Api, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that fails in passing is asked again; an output that is there stays as it is."""
    monkeypatch.setattr(running, "wait_for", lambda _passing, _tries: 0.0)
    AGENTS.make(alice, model=OPENAI)
    dataset = make_questions(alice, 1)
    [item] = items(alice, dataset)
    experiment = driven(alice, dataset)
    replies: list[Reply] = [Fails(400, "no"), Fails(503, "away"), Says("Question 0, indeed")]
    model.model = lambda _request: replies.pop(0)
    failed = run(alice, experiment, item).body
    assert (failed["result"]["error"]["code"], failed["scores"]) == ("provider_failed", [])
    done = run(alice, experiment, item).body
    assert (done["result"]["id"], done["result"]["retryCount"]) == (failed["result"]["id"], 1)
    [score] = done["scores"]
    assert (score["scorerId"], score["scorerName"], score["score"]) == ("repeats", "Repeats", 1.0)
    assert run(alice, experiment, item).body == done
    assert len(model.requests) == 3
    ended = alice.post(f"{experiment}/finalize", {}).body
    assert (ended["outcome"], ended["counts"]["done"]) == ("complete", 1)
    assert run(alice, experiment, item).code == "experiment_ended"


def test_the_context_of_a_request_takes_the_place_of_the_experiments(alice: Api) -> None:
    AGENTS.make(alice, instructions=[{"type": "text", "content": "{{ a }} {{ b }} {{ c }}"}], model=ECHO)
    dataset = make_questions(alice, 1, requestContext={"c": "item"})
    experiment = driven(alice, dataset, requestContext={"a": "all", "b": "all"})
    given = {"b": "request", "c": "request"}
    output = run(alice, experiment, items(alice, dataset)[0], requestContext=given).body["result"]["output"]
    assert output.startswith("all request item")


def test_a_further_attempt_is_one_of_all_items(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice, 2)
    first, second = items(alice, dataset)
    experiment = driven(alice, dataset)
    for attempt in range(2):
        assert run(alice, experiment, first, attempt=attempt).body["result"]["attempt"] == attempt
    run(alice, experiment, second)
    body = alice.post(f"{experiment}/finalize", {}).body
    assert (body["attempts"], body["totalItems"], body["succeededCount"]) == (2, 2, 2)
    assert (body["counts"]["cells"], body["counts"]["skipped"]) == (4, 1)


def test_workers_run_nothing_of_it_and_score_what_there_is(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice, 2)
    experiment = driven(alice, dataset)
    run(alice, experiment, items(alice, dataset)[0])
    assert alice.post(f"{experiment}/attempts", {"attempts": 2}).status == 200
    assert alice.post(f"{experiment}/score", {"scorerIds": ["repeats"]}).status == 200
    work()
    assert alice.get(experiment).body["status"] == "running"
    [result] = results(alice, experiment)
    assert result["scores"][0]["passed"] is True
    assert Cell.objects.exclude(due_at=None).count() == 0


def test_nobody_else_says_what_is_scored_here(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice, 1)
    [item] = items(alice, dataset)
    experiment = driven(alice, dataset)
    run(alice, experiment, item)
    sent = {"scorerId": "repeats", "runId": experiment.rpartition("/")[2], "entityId": item, "score": 0}
    answer = alice.post("/scores", {"score": sent})
    assert (answer.status, answer.fields) == (400, ["scorerId"])
    people = alice.post("/scores", {"score": {**sent, "scorerId": "people"}})
    assert (people.status, people.body["score"]["passed"]) == (201, None)
    assert run(alice, make_experiment(alice, dataset), item).fields == ["targetType"]
