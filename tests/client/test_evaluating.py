"""Experiments and gates through the client, functions of the application, and `editor evaluate`."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from editor_client.__main__ import main
from editor_client.errors import NotFound
from editor_client.manage.experiments import Comparison, ExperimentRecord, ResultRecord
from editor_client.transfer.evaluate_commands import judge, markdown


@pytest.mark.processes
def test_a_function_is_evaluated_and_compared_with_its_last_evaluation(client: Any, new_id: str) -> None:
    dataset = client.get_dataset(client.create_dataset(name=new_id, workspace_id="default").id)
    dataset.add_items([{"input": number, "ground_truth": number * 2} for number in range(12)])
    rate = 1

    def double(value: int, request_context: Any) -> int:
        assert request_context == {}
        if value == 11:
            raise LookupError("eleven")
        return value * rate

    def right(*, input: Any, output: Any, ground_truth: Any, metadata: Any) -> bool:
        return bool(output == ground_truth)

    first = client.evaluate(double, dataset=new_id, scorers=[right])
    assert (first.pairs, first.left_out.errors, first.primary.verdict) == (11, 1, "noDifferenceFound")
    rate = 2
    second = client.evaluate(double, dataset=new_id, scorers=[right])
    assert (second.primary.scorer_id, second.primary.wins, second.primary.verdict) == ("right", 10, "better")
    assert second.items_[0].outcome == "tie"  # of zero
    every = client.iter_experiments(workspace_id="default")  # those of other tests too
    newest, _ = (one for one in every if one.dataset_id == dataset.id)
    assert newest.name == "double"
    experiment = client.get_experiment(dataset.id, newest.id)
    assert experiment.details().counts["errors"] == 1
    [failed] = experiment.iter_results(outcome="error")
    assert failed.error["message"] == "LookupError: eleven"
    [again] = experiment.iter_results(item_id=failed.item_id)
    assert again.id == failed.id
    scored = {one.item_id for one in experiment.iter_results(scorer_id="right")}
    assert len(scored) == 11 and failed.item_id not in scored
    assert (
        list(experiment.iter_results(scorer_id="right", passed=True)) == []
    )  # it is not pinned: only a score
    assert len(experiment.export_file().splitlines()) == 12
    assert ElementTree.fromstring(experiment.export_file("junit")).get("tests") == "12"
    estimate = client.estimate_experiment(dataset.id, start=False, attempts=2)
    assert (estimate.cells, estimate.not_scorable, estimate.problems) == (24, {}, ())
    assert experiment.delete().success
    with pytest.raises(NotFound):
        client.evaluate(double, dataset="nothing")


@pytest.mark.processes
def test_gates_through_the_client(client: Any, new_id: str) -> None:
    dataset = client.create_dataset(name=new_id, workspace_id="default").id
    client.create_stored_agent(id=new_id, name="Writer", instructions="one", workspace_id="default")
    client.create_stored_scorer(id=new_id, name="Exact", type="equals", workspace_id="default")
    made = client.create_gate(
        new_id, dataset_id=dataset, scorer_ids=[new_id], rules=[{"rule": "passRate", "min": 0.5}]
    )
    gate = client.get_gate(made.id)
    assert (made.resource.id, gate.details().rules[0]["rule"]) == (new_id, "passRate")
    assert gate.update(attempts=2, bypass="nobody").attempts == 2
    assert [one.id for one in client.iter_gates(id=new_id)] == [made.id]
    draft = client.get_stored_agent(new_id).update(instructions="two").latest_version_id
    checked = client.check_gates("agent", new_id, version_id=draft)
    assert (checked.ok, [one.state for one in checked.gates]) == (False, ["missing"])
    assert client.check_gates("agent", new_id, version_id=draft).gates[0].gate_id == made.id
    assert gate.update(bypass="admin", enabled=True).bypass == "admin"
    stored = client.get_stored_agent(new_id)
    assert stored.activate_version(draft, bypass_evaluation="A typo at night").success
    assert gate.delete().success


# The exit codes, by what came of it


def record(**more: Any) -> ExperimentRecord:
    counts = {"cells": 12, "done": 12, "errors": 0, "skipped": 0, "queued": 0, "notScorable": 0}
    members = {"id": "e", "datasetVersion": 1, "status": "completed", "attempts": 1, "spent": {}}
    members |= {"outcome": "complete", "pairOf": "b", "summary": [], **more}
    return ExperimentRecord.of({**members, "counts": counts | more.get("counts", {})})


def comparison(verdict: str = "noDifferenceFound") -> Comparison:
    scorer = {"scorerId": "exact", "primary": True, "wins": 1, "losses": 9, "ties": 2, "difference": -0.5}
    scorer |= {"interval": None, "p": 0.01, "verdict": verdict, "detectable": 73}
    left_out = dict.fromkeys(("onlyHere", "onlyBaseline", "changedItems", "errors", "notScorable"), 0)
    item = {"itemId": "i", "outcome": "loss", "difference": -1, "here": 0, "baseline": 1}
    rest = {"pairs": 12, "leftOut": left_out, "notContemporary": False, "items": [item]}
    return Comparison.of({**rest, "scorers": [scorer]})


def result(*, passed: bool | None = True, must: bool = False, error: Any = None) -> ResultRecord:
    scores = [] if passed is None else [{"scorerId": "exact", "passed": passed}]
    members = {"id": "1", "itemId": "i", "attempt": 0, "error": error, "scores": scores, "input": {"a": "b"}}
    return ResultRecord.of({**members, "metadata": {"tags": ["must"]} if must else None})


@pytest.mark.parametrize(
    ("ended", "compared", "results", "rules", "code"),
    [
        (record(), comparison(), [result()], "worse,must,errors", 0),
        (record(), comparison("better"), [result(passed=False)], "worse,must,errors", 0),
        (record(), comparison("worse"), [result()], "worse,must,errors", 1),
        (record(), comparison("worse"), [result()], "must,errors", 0),
        (record(), comparison(), [result(passed=False, must=True)], "worse,must,errors", 1),
        (record(), comparison(), [result(passed=None, must=True, error={"message": "x"})], "must", 1),
        (record(), comparison(), [result(passed=False, must=True)], "worse,errors", 0),
        (record(counts={"errors": 1}), comparison(), [result()], "worse,must,errors", 3),
        (record(counts={"errors": 1}), comparison("worse"), [result()], "worse,must,errors", 1),
        (record(counts={"errors": 1}), comparison(), [result()], "worse", 0),
        (record(counts={"skipped": 1}), comparison(), [result()], "", 3),
        (record(), comparison("tooFew"), [result()], "worse,must,errors", 3),
        (record(outcome=None), comparison(), [result()], "must", 3),
        (record(outcome="overBudget"), comparison(), [result()], "must", 3),
        (record(pairOf=None), None, [result()], "worse", 3),
        (record(summary=[{"errors": 1}]), comparison(), [result()], "errors", 3),
        (record(), comparison(), [result(passed=None, must=True)], "must", 3),
    ],
)
def test_the_exit_code_says_what_came_of_it(
    ended: ExperimentRecord, compared: Comparison | None, results: Any, rules: str, code: int
) -> None:
    found = judge(ended, None, compared, results, rules.split(","))
    assert found.code == code
    assert bool(found.reasons) == (code != 0)
    report = markdown(ended, compared, found, results)
    assert all(reason in report for reason in found.reasons)
    assert ('\n- {"a":"b"}\n' in report) == (compared is not None)


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    server = ["--url", "http://127.0.0.1:9", "--api-key", "ek_x", "evaluate", "a", "--dataset", "x"]
    for wrong, said in (
        (["--fail-on", "better"], "unknown rule 'better'"),
        (["--attempts", "21"], "more than 20"),
        (["--timeout", "0"], "from 1 on"),
    ):
        with pytest.raises(SystemExit) as usage:
            main([*server, *wrong])
        assert usage.value.code == 2 and said in capsys.readouterr().err
