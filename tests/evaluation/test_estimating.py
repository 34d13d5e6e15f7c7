"""What an experiment would be, before it is started."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from capabilities.evaluation.experiments.models import Cell, Experiment
from tests.evaluation.test_running import ECHO, make_questions, start, work
from tests.support.api import AGENTS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.scorers import make_scorer

WRITER = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
JUDGED = {
    "choices": [{"label": "yes", "score": 1, "passes": True}, {"label": "no", "score": 0, "passes": False}]
}


def test_a_dry_run_counts_and_stores_nothing(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    make_scorer(alice, "exact")
    make_scorer(alice, "german", "contains", config={"values": ["a"]}, appliesIf=_german())
    dataset = make_dataset(alice, scorerIds=["exact", "german"])
    add_item(alice, dataset, input="x" * 4000, groundTruth="y" * 400)
    add_item(alice, dataset, input="Hello", metadata={"language": "de"})
    answer = alice.post(f"{dataset}/experiments", {**WRITER, "attempts": 3, "dryRun": True})
    assert answer.status == 200, answer.body
    assert answer.body["cells"] == 6
    assert answer.body["notScorable"] == {"exact": 1, "german": 1}
    assert answer.body["problems"] == []
    assert answer.body["estimate"]["inputTokens"] > 3000
    assert answer.body["estimate"]["outputTokens"] == 300
    assert not Experiment.objects.exists() and not Cell.objects.exists()
    assert "experiment.started" not in {one["type"] for one in alice.get("/events").body["events"]}


def _german() -> dict[str, object]:
    return {"operator": "AND", "conditions": [{"field": "language", "operator": "equals", "value": "de"}]}


def test_it_estimates_by_what_the_target_answered(alice: Api) -> None:
    """Without ground truths nothing is known of the answers before the first run."""
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    asked = {**WRITER, "dryRun": True}
    assert alice.post(f"{dataset}/experiments", asked).body["estimate"]["outputTokens"] == 0
    spent = alice.get(_run(alice, dataset)).body["spent"]
    assert (
        alice.post(f"{dataset}/experiments", asked).body["estimate"]["outputTokens"] == spent["outputTokens"]
    )
    beside = alice.post(f"{dataset}/experiments", {**asked, "baseline": AGENTS.versions(alice)[0]["id"]})
    assert beside.body["cells"] == 6


def test_an_experiment_and_its_estimate_have_a_cost_where_every_price_is_known(
    alice: Api, settings: Any
) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    asked = {**WRITER, "dryRun": True}
    assert alice.post(f"{dataset}/experiments", asked).body["estimate"]["cost"] is None
    assert alice.get(_run(alice, dataset)).body["spent"]["cost"] is None
    settings.EDITOR_PRICES = {"echo/echo": {"input": 1, "output": 1}}
    estimate = alice.post(f"{dataset}/experiments", asked).body["estimate"]
    spent = alice.get(_run(alice, dataset)).body["spent"]
    for one in (estimate, spent):
        tokens = one["inputTokens"] + one["outputTokens"]
        assert Decimal(one["cost"]["amount"]) == Decimal(tokens) / 1_000_000 > 0
        assert one["cost"]["currency"] == "USD" and one["cost"]["estimate"] is True


def _run(alice: Api, dataset: str) -> str:
    experiment = start(alice, dataset)
    work()
    return experiment


def test_it_names_what_the_experiment_would_suffer_from(alice: Api) -> None:
    model = {"provider": "openai", "name": "gpt-4o"}
    AGENTS.make(alice, model=model)
    make_scorer(alice, "judge", "llm-judge", model=model, instructions="Is it polite?", config=JUDGED)
    make_scorer(alice, "preset", "answer-relevancy")
    dataset = make_dataset(alice, scorerIds=["judge", "preset"])
    add_item(alice, dataset, input="Hello")
    body = alice.post(f"{dataset}/experiments", {**WRITER, "dryRun": True}).body
    found = [(one["scorerId"], one["code"]) for one in body["problems"]]
    assert found == [("judge", "self_judge"), ("preset", "unsupported_type")]
    assert body["estimate"]["outputTokens"] >= 60


def test_it_is_refused_as_the_experiment_is(alice: Api) -> None:
    dataset = make_dataset(alice)
    refused = alice.post(f"{dataset}/experiments", {**WRITER, "dryRun": True})
    assert (refused.status, refused.code) == (400, "no_items")
