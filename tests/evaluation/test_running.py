"""Experiments that a worker runs: in one process, with the worker's own jobs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from capabilities.evaluation.experiments import running
from capabilities.evaluation.experiments.models import MAX_WAIT, PACING, Cell, Experiment, Pacing, Score
from capabilities.evaluation.experiments.results import Answer
from capabilities.evaluation.experiments.running import JOBS, context_digest, remove_old
from capabilities.rollouts.counting import RECORDER
from capabilities.rollouts.models import Usage
from tests.conftest import Cast
from tests.runtime.model_server import Calls, Fails, ModelServer, Reply, Says, running_model_server
from tests.support.api import AGENTS, SCORERS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.experiments import results
from tests.support.people import give_role, key_of
from tests.support.scorers import make_scorer
from versioning.editor import Editor
from versioning.runtime import Framework
from versioning.runtime.failures import Passing
from versioning.worker.running import Worker

ECHO = {"provider": "echo", "name": "echo"}
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
OPENAI = {"provider": "openai", "name": "gpt-4o"}


def work() -> None:
    """Do what is due now or later, as a worker does."""
    while Cell.objects.exclude(due_at=None).update(due_at=PAST):
        assert Worker([JOBS[0]]).once()


@pytest.fixture(autouse=True)
def usual_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with providers that have refused nothing, and waits for nothing."""
    monkeypatch.setattr(PACING, "_lanes", {})


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of a provider is tried again at once."""
    monkeypatch.setattr(running, "wait_for", lambda passing, tries: 0.0)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A provider that answers as the test says."""
    with running_model_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield server


def make_questions(api: Api, number: int = 3, **members: Any) -> str:
    """Make a dataset whose items are repeated by a good answer."""
    make_scorer(api, "repeats", "contains", config={"values": ["{{input}}"]})
    dataset = make_dataset(api, scorerIds=["repeats"])
    for index in range(number):
        add_item(api, dataset, input=f"Question {index}", **members)
    return dataset


def start(api: Api, dataset: str, **members: Any) -> str:
    """Start an experiment with the draft of `writer`."""
    target = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
    answer = api.post(f"{dataset}/experiments", {**target, **members})
    assert answer.status == 201, answer.body
    assert answer.body["results"] == [] and answer.body["experimentId"] == answer.body["id"]
    return f"{dataset}/experiments/{answer.body['id']}"


def test_a_worker_asks_every_item_and_scores_the_answers(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    experiment = start(alice, dataset, attempts=2)
    assert alice.get(experiment).body["status"] == "pending"
    work()
    body = alice.get(experiment).body
    assert (body["status"], body["outcome"], body["counts"]["done"]) == ("completed", "complete", 6)
    assert body["summary"][0]["passRate"] == 1.0 and body["spent"]["inputTokens"] > 0
    found = results(alice, experiment)
    assert {(one["input"], one["attempt"]) for one in found} == {
        (f"Question {item}", attempt) for item in range(3) for attempt in range(2)
    }
    assert [one["attempt"] for one in found] == [0, 0, 0, 1, 1, 1]
    RECORDER.write()
    assert Usage.objects.get(kind="agent", resource_id="writer").arm == "evaluation"
    types = [one["type"] for one in alice.get("/events").body["events"]]
    assert "experiment.started" in types and "experiment.finished" in types


def test_an_input_that_is_no_text_reaches_the_agent_as_compact_json(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_dataset(alice)
    add_item(alice, dataset, input={"b": [1.0, 1e-7], "a": "é"})
    experiment = start(alice, dataset)
    work()
    [result] = results(alice, experiment)
    assert result["output"].endswith('{"a":"é","b":[1,1e-7]}')


def test_what_changes_meanwhile_changes_nothing(alice: Api) -> None:
    made = AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    experiment = start(alice, dataset)
    AGENTS.save(alice, text="Something else entirely")
    AGENTS.publish(alice, "writer", AGENTS.versions(alice)[0]["id"])
    assert alice.patch(SCORERS.url("repeats"), {"config": {"values": ["never"]}}).status == 200
    for item in alice.get(f"{dataset}/items").body["items"]:
        assert alice.patch(f"{dataset}/items/{item['id']}", {"input": "Another"}).status == 200
    work()
    body = alice.get(experiment).body
    assert body["agentVersion"] == made["latestVersionId"]
    assert body["summary"][0]["passed"] == 3
    assert all("Question" in one["output"] and "one" in one["output"] for one in results(alice, experiment))


def test_candidate_and_baseline_take_turns(alice: Api) -> None:
    first = AGENTS.make(alice, model=ECHO, autoPublish=True)
    AGENTS.save(alice, text="two", autoPublish=False)
    dataset = make_questions(alice)
    candidate = start(alice, dataset, baseline="published")
    body = alice.get(candidate).body
    baseline = f"{dataset}/experiments/{body['pairOf']}"
    assert alice.get(baseline).body["agentVersion"] == first["latestVersionId"]
    order = list(Cell.objects.order_by("pk").values_list("experiment_id", "item_id"))
    for (one, item), (other, same) in zip(order[::2], order[1::2], strict=True):
        assert (one, other, item) == (body["id"], body["pairOf"], same)
    work()
    assert {alice.get(one).body["outcome"] for one in (candidate, baseline)} == {"complete"}


def test_passing_failures_are_tried_again_and_others_are_not(
    alice: Api, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(alice, model=OPENAI)
    dataset = make_questions(alice, 1)
    replies = [Fails(429, "slowly", retry_after=0), Fails(500, "oops"), Says("Question 0")]
    model.model = lambda request: replies.pop(0)
    experiment = start(alice, dataset)
    work()
    [result] = results(alice, experiment)
    assert (result["output"], result["retryCount"], result["error"]) == ("Question 0", 2, None)
    model.requests.clear()
    model.model = lambda request: Fails(503, "away")
    experiment = start(alice, dataset)
    work()
    assert len(model.requests) == 4
    assert results(alice, experiment)[0]["error"]["code"] == "provider_failed"
    model.requests.clear()
    model.model = lambda request: Fails(400, "no")
    start(alice, dataset)
    work()
    assert len(model.requests) == 1


@pytest.mark.database
@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
@pytest.mark.parametrize(
    ("reply", "outcome"), [(Says, ("done", "")), (partial(Fails, 400), ("error", "provider_failed"))]
)
def test_what_no_database_stores_is_replaced(
    alice: Api, model: ModelServer, bad: str, reply: Callable[[str], Reply], outcome: tuple[str, str]
) -> None:
    AGENTS.make(alice, model=OPENAI)
    model.model = lambda request: reply(f"before{bad}after")
    start(alice, make_questions(alice, 1))
    work()
    cell = Cell.objects.get()
    assert (cell.state, cell.error_code) == outcome
    assert "before\ufffdafter" in (cell.error_message or cell.output_json)


def test_a_tool_called_with_what_is_no_json_is_answered_by_its_mock(
    alice: Api, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework = Framework(tools=[search], editor=Editor())
    monkeypatch.setattr(running, "get_framework", lambda: framework)
    AGENTS.make(alice, model=OPENAI, tools={"search": {}})
    dataset = make_dataset(alice)
    mock = {"toolName": "search", "args": {"query": "\ufffd", "more": None}, "output": "three pairs"}
    add_item(alice, dataset, input="Shoes?", toolMocks=[mock])
    call = Calls("search", {"query": "\ud83d", "more": float("nan")})
    model.model = lambda request: Says("Ok") if request["messages"][-1]["role"] == "tool" else call
    experiment = start(alice, dataset)
    work()
    [result] = results(alice, experiment)
    assert (result["error"], result["output"]) == (None, "Ok")
    assert result["toolCalls"] == [{"toolName": "search", "args": mock["args"]}]


def test_an_item_that_cannot_be_run_is_an_error_after_some_tries(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(alice, model=ECHO)
    experiment = start(alice, make_questions(alice, 1))
    tries = []

    def fail(*_: Any) -> Answer:
        tries.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr(running, "ask", fail)
    for _ in range(4):
        Cell.objects.exclude(due_at=None).update(due_at=PAST)
        Worker([JOBS[0]]).once()
    [result] = results(alice, experiment)
    assert (result["error"]["code"], len(tries)) == ("internal_error", 4)
    body = alice.get(experiment).body
    assert (body["outcome"], body["counts"]["errors"]) == ("complete", 1)


def test_no_provider_delays_an_item_for_long() -> None:
    assert running.wait_for(Passing(is_limit=True, retry_after=1e12), 0) == MAX_WAIT
    assert running.wait_for(Passing(is_limit=True, retry_after=7), 0) == 7


def test_an_answer_is_not_rolled_again_because_of_a_judge(
    alice: Api, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(alice, model=ECHO)
    choices = [{"label": "good", "score": 1, "passes": True}, {"label": "bad", "score": 0, "passes": False}]
    make_scorer(
        alice, "kind", "llm-judge", model=OPENAI, instructions="Is it kind?", config={"choices": choices}
    )
    dataset = make_dataset(alice, scorerIds=["kind"])
    add_item(alice, dataset, input="x" * 40_000)
    verdict = Says(json.dumps({"reason": "It is.", "label": "good"}))
    replies = [Fails(429, "slowly"), verdict]
    model.model = lambda request: replies.pop(0)
    experiment = start(alice, dataset)
    work()
    [result] = results(alice, experiment)
    assert result["scores"][0]["label"] == "good" and result["outputCut"] is True
    assert Usage.objects.count() == 0
    RECORDER.write()
    assert Usage.objects.get(kind="agent").runs == 1
    spent = alice.get(experiment).body["spent"]
    assert spent["inputTokens"] > result["inputTokens"] > 0


def test_rubbish_of_a_judge_is_an_error_and_can_be_judged_again(alice: Api, model: ModelServer) -> None:
    AGENTS.make(alice, model=ECHO)
    choices = [{"label": "good", "score": 1, "passes": True}, {"label": "bad", "score": 0, "passes": False}]
    make_scorer(
        alice, "kind", "llm-judge", model=OPENAI, instructions="Is it kind?", config={"choices": choices}
    )
    dataset = make_dataset(alice, scorerIds=["kind"])
    add_item(alice, dataset)
    model.model = lambda request: Says("Well, I would say it is good.")
    experiment = start(alice, dataset)
    work()
    body = alice.get(experiment).body
    assert (body["outcome"], body["counts"]["done"]) == ("complete", 1)
    assert (body["summary"][0]["n"], body["summary"][0]["errors"], body["summary"][0]["passRate"]) == (
        0,
        1,
        None,
    )
    model.model = lambda request: Says(json.dumps({"reason": "It is.", "label": "good"}))
    assert alice.post(f"{experiment}/resume", {}).body["status"] == "pending"
    work()
    assert alice.get(experiment).body["summary"][0]["passed"] == 1


@pytest.mark.parametrize(
    ("limits", "outcome", "done"),
    [
        ({"tokens": 1}, "overBudget", 1),
        ({"seconds": 0.000001}, "expired", 0),
    ],
)
def test_limits_skip_what_is_left(alice: Api, limits: dict[str, Any], outcome: str, done: int) -> None:
    AGENTS.make(alice, model=ECHO)
    experiment = start(alice, make_questions(alice), limits=limits)
    work()
    body = alice.get(experiment).body
    assert (body["status"], body["outcome"], body["counts"]["done"]) == ("failed", outcome, done)
    assert body["counts"]["skipped"] == 3 - done
    more = {"tokens": 10**6} if "tokens" in limits else {"seconds": 600}
    assert alice.post(f"{experiment}/resume", {"limits": more}).status == 200
    work()
    assert alice.get(experiment).body["outcome"] == "complete"


def test_too_many_errors_end_it(alice: Api, model: ModelServer) -> None:
    AGENTS.make(alice, model=OPENAI)
    model.model = lambda request: Fails(400, "no")
    experiment = start(alice, make_questions(alice, 12))
    work()
    body = alice.get(experiment).body
    assert (body["outcome"], body["counts"]["errors"], body["counts"]["skipped"]) == ("tooManyErrors", 10, 2)


def test_cancelling_skips_and_resuming_goes_on(alice: Api) -> None:
    AGENTS.make(alice, model=ECHO)
    experiment = start(alice, make_questions(alice))
    body = alice.post(f"{experiment}/cancel", {}).body
    assert (body["outcome"], body["counts"]["skipped"]) == ("cancelled", 3)
    work()
    assert results(alice, experiment) == []
    alice.post(f"{experiment}/resume", {})
    work()
    assert alice.get(experiment).body["outcome"] == "complete"


def test_a_cell_that_was_cancelled_meanwhile_records_nothing(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(alice, model=ECHO)
    experiment = start(alice, make_questions(alice, 1))

    def answer_late(*_: Any) -> Answer:
        assert alice.post(f"{experiment}/cancel", {}).body["outcome"] == "cancelled"
        return Answer(output="late")

    monkeypatch.setattr(running, "ask", answer_late)
    work()
    assert results(alice, experiment) == []
    assert alice.get(experiment).body["counts"]["skipped"] == 1


def test_attempts_are_added_and_scorers_score_again(alice: Api, model: ModelServer) -> None:
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    experiment = start(alice, dataset)
    work()
    assert alice.post(f"{experiment}/attempts", {"attempts": 3}).body["counts"]["queued"] == 6
    work()
    assert alice.get(experiment).body["counts"]["done"] == 9
    before = [one["output"] for one in results(alice, experiment)]
    make_scorer(alice, "shouts", "contains", config={"values": ["!!!"]})
    assert alice.post(f"{experiment}/score", {"scorerIds": ["shouts"]}).status == 200
    work()
    body = alice.get(experiment).body
    assert [(one["scorerId"], one["passed"]) for one in body["summary"]] == [("repeats", 3), ("shouts", 0)]
    assert [one["output"] for one in results(alice, experiment)] == before
    scores = set(Score.objects.values_list("pk", flat=True))
    assert alice.post(f"{experiment}/score", {"scorerIds": ["repeats"]}).status == 200  # as it was
    work()
    assert set(Score.objects.values_list("pk", flat=True)) == scores


def test_a_result_keeps_in_what_context_it_ran(alice: Api, model: ModelServer) -> None:
    """Of the context beside the item's own, a digest; and whether tools without a mock are called."""
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    experiment = start(alice, dataset, requestContext={"tier": "gold"}, unmockedToolPolicy="allow")
    start(alice, dataset)
    work()
    ran = {(one.experiment_id, one.context_digest, one.tool_policy) for one in Cell.objects.all()}
    own = experiment.rpartition("/")[2]
    assert {one[1:] for one in ran if one[0] == own} == {(context_digest({"tier": "gold"}), "allow")}
    assert {one[1:] for one in ran if one[0] != own} == {("", "deny")}


def test_it_runs_with_the_rights_of_the_moment(cast: Cast) -> None:
    alice, edgar = cast.alice, cast.edgar
    AGENTS.make(alice, model=ECHO)
    dataset = make_questions(alice)
    experiment = start(edgar, dataset)
    give_role("edgar", "acme", "viewer")
    work()
    assert {one["error"]["code"] for one in results(alice, experiment)} == {"forbidden"}
    with_key = start(key_of("alice"), dataset)
    Experiment.objects.filter(pk=with_key.rpartition("/")[2]).update(key_prefix="ek_gone")
    work()
    assert {one["error"]["code"] for one in results(alice, with_key)} == {"forbidden"}


def search(query: str) -> str:
    """Find something."""
    return f"really found {query}"


def test_tools_are_answered_by_mocks(alice: Api, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    framework = Framework(tools=[search], editor=Editor())
    monkeypatch.setattr(running, "get_framework", lambda: framework)
    AGENTS.make(alice, model=OPENAI, tools={"search": {}})
    dataset = make_dataset(alice)
    mock = {"toolName": "search", "args": {"query": "shoes"}, "output": "three pairs"}
    add_item(alice, dataset, input="mocked", toolMocks=[mock])
    add_item(alice, dataset, input="other arguments", toolMocks=[{**mock, "args": {"query": "hats"}}])
    add_item(alice, dataset, input="denied")
    add_item(alice, dataset, input="allowed", unmockedToolPolicy="allow")

    def call_once(request: dict[str, Any]) -> Any:
        last = request["messages"][-1]
        return Says(str(last["content"])) if last["role"] == "tool" else Calls("search", {"query": "shoes"})

    model.model = call_once
    experiment = start(alice, dataset)
    work()
    found = {one["input"]: one for one in results(alice, experiment)}
    assert (found["mocked"]["output"], found["mocked"]["error"]) == ("three pairs", None)
    assert [one["mockIndex"] for one in found["mocked"]["toolMockReport"]["served"]] == [0]
    assert found["mocked"]["toolCalls"] == [{"toolName": "search", "args": {"query": "shoes"}}]
    assert found["allowed"]["output"] == "really found shoes"
    for asked, code in (("denied", "NOT_DECLARED"), ("other arguments", "MISMATCH")):
        assert found[asked]["error"]["code"] == "tool_not_mocked"
        assert found[asked]["toolMockReport"]["failure"]["code"] == f"TOOL_MOCK_{code}"


def test_a_scorer_is_evaluated_against_labels(alice: Api) -> None:
    make_scorer(alice, "greets", "contains", config={"values": ["hello"], "ignoreCase": True})
    make_scorer(alice, "agrees", "jsonEquals", config={"path": "passed", "value": "{{groundTruth}}"})
    dataset = make_dataset(alice, scorerIds=["agrees"])
    add_item(alice, dataset, input={"input": "Hi", "output": "Hello!"}, groundTruth=True)
    add_item(alice, dataset, input={"input": "Hi", "output": "Go away."}, groundTruth=True)
    add_item(alice, dataset, input="nothing to score", groundTruth=True)
    experiment = start(alice, dataset, targetType="scorer", targetId="greets")
    work()
    body = alice.get(experiment).body
    assert (body["summary"][0]["passed"], body["counts"]["errors"], body["lock"]) == (1, 1, None)


def test_old_outputs_are_removed(alice: Api, settings: Any) -> None:
    AGENTS.make(alice, model=ECHO)
    experiment = start(alice, make_questions(alice, 1))
    work()
    remove_old()
    assert results(alice, experiment)[0]["output"]
    settings.EDITOR_KEEP_RESULTS = 1e-9
    remove_old()
    [result] = results(alice, experiment)
    assert (result["output"], result["outputCut"], result["scores"][0]["passed"]) == (None, True, True)


def test_a_busy_provider_is_asked_by_half_as_many(settings: Any) -> None:
    settings.EDITOR_EVALUATION_CONCURRENCY = 4
    now = [0.0]
    pacing = Pacing(clock=lambda: now[0])
    for workspace in "abcd":
        assert pacing.has_room("openai", workspace)
        pacing.begin("openai", workspace)
    assert not pacing.has_room("openai", "e") and pacing.has_room("anthropic", "e")
    pacing.record_refusal("openai", 10)
    pacing.record_refusal("openai", 10)  # asked before the first refusal
    for workspace in "abcd":
        pacing.end("openai", workspace)
    assert not pacing.has_room("openai", "a")
    now[0] = 10.0
    pacing.begin("openai", "a")
    assert pacing.has_room("openai", "b")
    pacing.begin("openai", "b")
    assert not pacing.has_room("openai", "c")
    for _ in range(3):
        pacing.record_answer("openai")
    assert pacing.has_room("openai", "c")


def test_a_workspace_leaves_a_place_of_a_provider_to_others(settings: Any) -> None:
    settings.EDITOR_EVALUATION_CONCURRENCY = 4
    pacing = Pacing()
    for _ in range(3):
        assert pacing.has_room("openai", "busy")
        pacing.begin("openai", "busy")
    assert not pacing.has_room("openai", "busy")
    assert pacing.has_room("openai", "other"), "its items need not wait until one of the others ends"
    pacing.begin("openai", "other")
    pacing.end("openai", "busy")
    assert not pacing.has_room("openai", "busy") and not pacing.has_room("openai", "other")
    assert pacing.has_room("openai", "third")
