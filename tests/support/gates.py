"""Gates and evidence for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capabilities.evaluation.experiments.models import Cell, CellState, Experiment, Score
from capabilities.evaluation.experiments.running import context_digest
from tests.support.api import SCORERS, Api
from tests.support.datasets import make_dataset
from tests.support.scorers import make_scorer

GATES = "/gates"
NOT_WORSE = {"rule": "notWorse"}
MUST = 2
"""How many items have the tag `must`."""


def make_scored_dataset(api: Api, items: int = 12, **members: Any) -> str:
    """Make a dataset with a published scorer, and return its path."""
    made = make_scorer(api, "exact")
    SCORERS.publish(api, "exact", made["latestVersionId"])
    dataset = make_dataset(api, **members)
    rows = [
        {
            "input": f"Question {number}",
            "groundTruth": f"Answer {number}",
            "metadata": {"tags": ["must"]} if number < MUST else {},
        }
        for number in range(items)
    ]
    answer = api.post(f"{dataset}/items/batch", {"items": rows})
    assert answer.status == 201, answer.body
    return dataset


def make_gate(api: Api, dataset: str, agent: str | None = "writer", **members: Any) -> dict[str, Any]:
    """Make a gate of an agent in acme, or of all its agents."""
    body = {
        "workspaceId": "acme",
        "resource": None if agent is None else {"kind": "agent", "id": agent},
        "datasetId": dataset.rpartition("/")[2],
        "scorerIds": ["exact"],
        "rules": [NOT_WORSE],
    }
    answer = api.post(GATES, {**body, **members})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def start(api: Api, dataset: str, agent: str = "writer", **members: Any) -> str:
    """Start an experiment with an agent, and return its id."""
    body = {"start": False, "targetType": "agent", "targetId": agent, "scorerIds": ["exact"], **members}
    answer = api.post(f"{dataset}/experiments", body)
    assert answer.status in {200, 201}, answer.body
    return str(answer.body["experimentId"])


def finish(
    experiment_id: str,
    passes: Callable[[int], bool] = lambda _: True,
    *,
    tokens: int = 10,
    numbers: bool = True,
) -> str:
    """Write the results of an experiment, as a worker does; `passes` gets the number of the item.

    Without `numbers`, its items need not have any, and all pass.
    """
    experiment = Experiment.objects.get(pk=experiment_id)
    for cell in Cell.objects.filter(experiment=experiment).select_related("revision"):
        number = int(str(cell.member("input")).rpartition(" ")[2]) if numbers else 0
        passed = passes(number)
        cell.finish_now(
            state=CellState.DONE,
            input_tokens=tokens,
            output_tokens=tokens,
            output_json='"x"',
            context_digest=context_digest(experiment.request_context),
            tool_policy=experiment.tool_policy,
        )
        for scorer in experiment.scorers.all():
            Score.objects.create(
                workspace_id=experiment.workspace_id,
                cell=cell,
                run_id=experiment.pk,
                scorer_id=scorer.scorer_id,
                version_id=scorer.version_id,
                entity_id=str(cell.item_id),
                source="TEST",
                value=float(passed),
                passed=passed,
            )
    Experiment.objects.filter(pk=experiment_id).update(
        outcome="complete", done_count=experiment.cells_count, started_at=experiment.created_at
    )
    return experiment_id


def evidence(
    api: Api,
    dataset: str,
    version_id: str | None = None,
    passes: Callable[[int], bool] = lambda _: True,
    *,
    tokens: int = 10,
    **members: Any,
) -> str:
    """Run an experiment with a version of an agent, by default the published one."""
    selected = {} if version_id is None else {"selector": {"versionId": version_id}}
    return finish(start(api, dataset, **selected, **members), passes, tokens=tokens)


def states(answer: Any) -> list[tuple[str, str, str | None]]:
    """Return what the gates said, by agent, state and rule."""
    assert (answer.status, answer.code) == (403, "evaluation_required"), answer.body
    return [
        (one["resource"]["id"], one["state"], (one["rule"] or {}).get("rule"))
        for one in answer.body["evaluation"]
    ]
