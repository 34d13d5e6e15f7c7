"""What failed cannot be thrown away until a run passes: deleted, run in another context, or scored again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from capabilities.evaluation.experiments.models import Cell, CellState, Experiment, Score
from tests.conftest import Cast
from tests.evaluation.test_running import ECHO, model, usual_pace, work
from tests.runtime.model_server import ModelServer, Says
from tests.support.api import AGENTS, SCORERS
from tests.support.doors import make_draft
from tests.support.gates import evidence, finish, make_gate, make_scored_dataset, start, states
from tests.support.scorers import make_scorer

__all__ = ["model", "usual_pace"]

ALL = [{"rule": "allPass"}]


@pytest.fixture
def draft(cast: Cast) -> str:
    """A draft over a live version."""
    return make_draft(cast, AGENTS)


@pytest.fixture
def dataset(cast: Cast) -> str:
    return make_scored_dataset(cast.alice)


def _stop(experiment_id: str) -> None:
    """Let it be stopped after half of its items, as soon as somebody sees it fail."""
    for cell in Cell.objects.filter(experiment=experiment_id).order_by("pk")[6:]:
        Score.objects.filter(cell=cell).delete()
        cell.finish_now(state=CellState.SKIPPED)
    Experiment.objects.filter(pk=experiment_id).update(outcome="cancelled", done_count=6, skipped_count=6)


def _spoil(experiment_id: str) -> None:
    """Let one item have an error, so that the experiment is incomplete."""
    [cell, *_] = Cell.objects.filter(experiment=experiment_id)
    Score.objects.filter(cell=cell).delete()
    cell.finish_now(state=CellState.ERROR, error_code="timeout")
    Experiment.objects.filter(pk=experiment_id).update(done_count=11, error_count=1)


def _go_on(experiment_id: str) -> None:
    """Let it run still."""
    Experiment.objects.filter(pk=experiment_id).update(outcome="")


def _leave(_experiment_id: str) -> None:
    """Leave it as it is: with too few attempts."""


@pytest.mark.parametrize("end", [_stop, _spoil, _go_on, _leave])
def test_what_failed_is_not_deleted_before_anything_counts(
    cast: Cast, draft: str, dataset: str, end: Callable[[str], None]
) -> None:
    """It would count as soon as a run is complete."""
    make_gate(cast.paula, dataset, rules=ALL, attempts=2 if end is _leave else 1)
    failed = evidence(cast.edgar, dataset, draft, lambda number: number > 5)
    end(failed)
    refused = cast.edgar.delete(f"{dataset}/experiments/{failed}")
    assert (refused.status, refused.code) == (409, "in_use")


def test_what_failed_is_not_deleted_while_a_scorer_has_another_version(
    cast: Cast, draft: str, dataset: str
) -> None:
    """It would count again as soon as the scorer is back."""
    make_gate(cast.paula, dataset, rules=ALL)
    failed = evidence(cast.edgar, dataset, draft, lambda number: number > 5)
    newer = cast.edgar.patch(SCORERS.url("exact"), {"config": {"value": "x"}}).body["latestVersionId"]
    SCORERS.publish(cast.paula, "exact", newer)
    assert cast.edgar.delete(f"{dataset}/experiments/{failed}").code == "in_use"


def test_one_item_in_another_context_does_not_take_away_what_failed(
    cast: Cast, draft: str, dataset: str
) -> None:
    """Who runs a further attempt in a context of their own adds nothing, and removes nothing."""
    make_gate(cast.paula, dataset, rules=ALL)
    failed = evidence(cast.edgar, dataset, draft, lambda number: number > 5)
    [cell, *_] = Cell.objects.filter(experiment=failed)
    cell.finish_now(context_digest="another")
    assert cast.edgar.delete(f"{dataset}/experiments/{failed}").code == "in_use"
    evidence(cast.edgar, dataset, draft)
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert states(cast.paula.post(url)) == [("writer", "failed", "allPass")]


def test_a_judge_is_not_asked_again_by_way_of_another_version(cast: Cast, model: ModelServer) -> None:
    """As where an editor scores by a draft of the judge, and then by what is published."""
    choices: list[dict[str, Any]] = [
        {"label": "good", "score": 1, "passes": True},
        {"label": "bad", "score": 0, "passes": False},
    ]
    judge = {"model": {"provider": "openai", "name": "gpt-4o"}, "config": {"choices": choices}}
    made = make_scorer(cast.alice, "exact", "llm-judge", instructions="Judge.", **judge)
    SCORERS.publish(cast.alice, "exact", made["latestVersionId"])
    dataset = cast.alice.post("/datasets", {"name": "Questions", "workspaceId": "acme"}).body["id"]
    assert cast.alice.post(f"/datasets/{dataset}/items", {"input": "Hi"}).status == 201
    AGENTS.make(cast.edgar, "writer", "one", model=ECHO)
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.paula, f"/datasets/{dataset}", rules=ALL)
    said = ["bad", "good", "good"]
    model.model = lambda _request: Says(f'{{"reason": "x", "label": "{said.pop(0)}"}}')
    experiment = start(cast.edgar, f"/datasets/{dataset}", selector={"versionId": draft}, start=True)
    work()
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert states(cast.paula.post(url)) == [("writer", "failed", "allPass")]
    other = cast.edgar.patch(SCORERS.url("exact"), {"instructions": "Judge!"}).body["latestVersionId"]
    again = f"/datasets/{dataset}/experiments/{experiment}/score"
    refused = cast.edgar.post(again, {"scorerIds": [{"id": "exact", "versionId": other}]})
    assert (refused.status, refused.code) == (409, "in_use")
    work()
    cast.edgar.post(again, {"scorerIds": ["exact"]})
    work()
    assert states(cast.paula.post(url)) == [("writer", "failed", "allPass")]
    SCORERS.publish(cast.paula, "exact", other)
    assert cast.edgar.post(again, {"scorerIds": ["exact"]}).status == 200  # what is published may score


def test_an_author_does_not_score_again_by_a_version_written_before_the_run(
    cast: Cast, draft: str, dataset: str
) -> None:
    """The scorer that was published when it ran was another one."""
    make_gate(cast.paula, dataset, rules=ALL)
    lax = cast.edgar.patch(SCORERS.url("exact"), {"config": {"value": "{{output}}"}}).body["latestVersionId"]
    failed = evidence(cast.edgar, dataset, draft, lambda number: number > 5)
    SCORERS.publish(cast.paula, "exact", lax)
    answer = cast.edgar.post(f"{dataset}/experiments/{failed}/score", {"scorerIds": ["exact"]})
    assert answer.status == 200
    finish(failed)
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert states(cast.paula.post(url)) == [("writer", "stale", None)]
