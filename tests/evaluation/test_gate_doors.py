"""Every way to publish asks for evidence, whatever states the evidence is in."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from threading import Thread
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from capabilities.evaluation.datasets.models import Dataset, Revision
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer
from capabilities.evaluation.experiments.running import context_digest
from capabilities.evaluation.gates import check as gate_check
from capabilities.evaluation.gates import evidence as gate_evidence
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import Scorer
from tests.conftest import Cast
from tests.editor.test_gate import everything
from tests.schedules.conftest import ahead, run, scheduled
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Answer, Api
from tests.support.calls import undone
from tests.support.doors import DRAFT, IN_PYTHON, IN_THE_STUDIO, OVER_HTTP, make_draft
from tests.support.gates import (
    GATES,
    evidence,
    finish,
    make_gate,
    make_scored_dataset,
    start,
    states,
)
from tests.support.override_files import Folder, define
from tests.support.people import command
from tests.support.rollouts import arm
from tests.support.rollouts import start as start_rollout
from versioning.conf import get_editor
from versioning.domain.errors import Forbidden
from versioning.models import Event, PromptBlock
from versioning.models.guarded import unguard

REASON = "The customer waits."
Prepare = Callable[[Api, str, str], Any]


@pytest.fixture
def draft(cast: Cast) -> str:
    """A draft over a live version."""
    return make_draft(cast, AGENTS)


@pytest.fixture
def dataset(cast: Cast) -> str:
    return make_scored_dataset(cast.alice)


def _run_live(api: Api, dataset: str) -> None:
    evidence(api, dataset)


def _running(api: Api, dataset: str, draft: str) -> None:
    start(api, dataset, selector={"versionId": draft})


def _old(api: Api, dataset: str, draft: str) -> None:
    experiment = evidence(api, dataset, draft)
    then = timezone.now() - datetime.timedelta(days=31)
    Experiment.objects.filter(pk=experiment).update(created_at=then)


def _cancelled(api: Api, dataset: str, draft: str) -> None:
    experiment = evidence(api, dataset, draft)
    Experiment.objects.filter(pk=experiment).update(outcome="cancelled")


def _with_error(api: Api, dataset: str, draft: str) -> None:
    experiment = Experiment.objects.get(pk=evidence(api, dataset, draft))
    Experiment.objects.filter(pk=experiment.pk).update(done_count=experiment.cells_count - 1, error_count=1)


def _edited(api: Api, dataset: str, draft: str) -> None:
    evidence(api, dataset, draft)
    item = {"input": "Question 99", "groundTruth": "Answer 99"}
    Datasets.add(dataset.rpartition("/")[2], [item], places=[""])


def _in_another_context(api: Api, dataset: str, draft: str) -> None:
    evidence(api, dataset, draft, requestContext={"tier": "gold"})


def _an_item_in_another_context(api: Api, dataset: str, draft: str) -> None:
    """As where the item is run by itself, in a context of the caller's choice."""
    experiment = evidence(api, dataset, draft)
    [cell, *_] = Cell.objects.filter(experiment=experiment)
    cell.finish_now(context_digest=context_digest({"tier": "gold"}))


def _with_real_tools(api: Api, dataset: str, draft: str) -> None:
    evidence(api, dataset, draft, unmockedToolPolicy="allow")


def _purged(api: Api, dataset: str, draft: str) -> None:
    """The item that fails is purged, and what is left passes."""
    _run_live(api, dataset)
    evidence(api, dataset, draft, lambda number: number > 0)
    _purge(dataset, "Question 0")


def _purge(dataset: str, question: str) -> None:
    dataset_id = dataset.rpartition("/")[2]
    [item] = [one for one in Revision.objects.filter(dataset=dataset_id) if one.payload["input"] == question]
    Datasets.purge(dataset_id, str(item.item_id))


def _run_after_a_purge(api: Api, dataset: str, draft: str) -> None:
    _purge(dataset, "Question 0")
    finish(start(api, dataset, selector={"versionId": draft}), numbers=False)


def _until_it_passes(api: Api, dataset: str, draft: str) -> None:
    _run_live(api, dataset)
    evidence(api, dataset, draft, lambda number: number > 5)
    evidence(api, dataset, draft)


def _stopped_when_it_failed(api: Api, dataset: str, draft: str) -> None:
    _run_live(api, dataset)
    failing = evidence(api, dataset, draft, lambda number: number > 5)
    Experiment.objects.filter(pk=failing).update(outcome="cancelled")
    evidence(api, dataset, draft)


def _with_a_namesake_of_the_scorer(api: Api, dataset: str, draft: str) -> None:
    _run_live(api, dataset)
    evidence(api, dataset, draft)
    scorers = get_editor().collection(SCORER)
    scorers.delete("exact")
    config = {"name": "exact", "type": "equals", "config": {"value": "{{output}}"}}
    scorers.create(config, id="exact", workspace="elsewhere", publish=True)


def _with_few_items(api: Api, dataset: str, draft: str) -> None:
    dataset_id = dataset.rpartition("/")[2]
    items = [str(one.item_id) for one in Revision.objects.filter(dataset=dataset_id)]
    Datasets.remove(dataset_id, items[5:])
    _run_live(api, dataset)
    evidence(api, dataset, draft, lambda _number: False)


def _scored_again_by_its_author(api: Api, dataset: str, draft: str) -> None:
    """Who wrote the version changes what it is measured by, and scores the outputs that there are."""
    experiment = evidence(api, dataset, draft)
    newer = api.patch(SCORERS.url("exact"), {"config": {"value": "{{output}}"}}).body["latestVersionId"]
    get_editor().collection(SCORER).publish("exact", newer)
    ExperimentScorer.objects.filter(experiment=experiment).update(version_id=newer)


STATES: dict[str, tuple[Prepare, str, str | None]] = {
    "nothing was run": (lambda *_: None, "missing", None),
    "something else was run": (lambda api, dataset, _: _run_live(api, dataset), "missing", None),
    "it runs": (
        lambda api, dataset, draft: start(api, dataset, selector={"versionId": draft}),
        "running",
        None,
    ),
    "it was stopped": (_cancelled, "incomplete", None),
    "it has an error": (_with_error, "incomplete", None),
    "it is too old": (_old, "stale", None),
    "an item was added": (_edited, "stale", None),
    "it ran in another context": (_in_another_context, "missing", None),
    "an item ran in another context": (_an_item_in_another_context, "missing", None),
    "tools were called": (_with_real_tools, "missing", None),
    "an item was purged": (_purged, "stale", None),
    "it ran without what was purged": (_run_after_a_purge, "stale", None),
    "it ran until it passed": (_until_it_passes, "failed", "notWorse"),
    "it was stopped when it failed": (_stopped_when_it_failed, "failed", "notWorse"),
    "a namesake scores": (_with_a_namesake_of_the_scorer, "scorer_gone", None),
    "the author changed the scorer": (_scored_again_by_its_author, "stale", None),
    "there are five items": (_with_few_items, "tooFew", "notWorse"),
    "what is live was not run": (evidence, "missing", "notWorse"),
    "it is worse": (
        lambda api, dataset, draft: (
            _run_live(api, dataset),
            evidence(api, dataset, draft, lambda number: number > 5),
        ),
        "failed",
        "notWorse",
    ),
}


States = list[tuple[str, str, str | None]]
"""What the gates say, by agent, state and rule; nothing if the version went live."""


def _states_of(answer: Answer) -> States:
    return [] if answer.status in {200, 201} else states(answer)


def _checked(cast: Cast, **change: str) -> States:
    gates = cast.edgar.get(f"{GATES}/check", **change).body["gates"]
    told = [(one["resource"]["id"], one["state"], (one["rule"] or {}).get("rule")) for one in gates]
    return [one for one in told if one[1] is not None]


def _by_release(cast: Cast, draft: str) -> States:
    release = _release(cast, [_item("agent", "writer", draft)])
    said, answer = _checked(cast, release=release), cast.alice.post(f"/releases/{release}/publish")
    if answer.status != 200:
        assert (answer.status, answer.code) == (409, "release_blocked")
        assert {one["code"] for one in answer.body["problems"]} == {"evaluation_required"}
    assert (answer.status == 200) == (said == [])
    return said


def _by_schedule(cast: Cast, draft: str) -> States:
    said = _checked(cast, kind="agent", id="writer", versionId=draft)
    done = run(scheduled(cast.alice, AGENTS, draft, runAt=ahead(24)), cast.alice)
    assert (done["state"], done["code"]) == (("failed", "evaluation_required") if said else ("done", None))
    return said


def _as_arm(cast: Cast, draft: str) -> States:
    return _states_of(start_rollout(cast.alice, AGENTS, arm(draft)))


def _by_completing_a_rollout(cast: Cast, draft: str) -> States:
    """Complete one that began before there was the gate."""
    Gate.objects.update(enabled=False)
    rollout = _as_arm(cast, draft)
    Gate.objects.update(enabled=True)
    [running] = cast.alice.get("/rollouts", state="running").body["rollouts"]
    assert rollout == []
    return _states_of(cast.alice.post(f"/rollouts/{running['id']}/complete", {"arm": "new"}))


def _by_widening_a_rollout(cast: Cast, draft: str) -> States:
    """Give everything to an arm that had nothing, and began before there was the gate."""
    Gate.objects.update(enabled=False)
    rollout = start_rollout(cast.alice, AGENTS, arm(draft, weight=0)).body
    Gate.objects.update(enabled=True)
    wider = {"arms": [{"name": "new", "weight": 10_000}]}
    return _states_of(cast.alice.patch(f"/rollouts/{rollout['id']}", wider))


DOORS: dict[str, Callable[[Cast, str], States]] = {
    **{
        name: lambda cast, draft, door=door: _states_of(door(cast, AGENTS, draft, None))
        for name, door in OVER_HTTP.items()
    },
    "release": _by_release,
    "schedule": _by_schedule,
    "arm": _as_arm,
    "complete a rollout": _by_completing_a_rollout,
    "widen a rollout": _by_widening_a_rollout,
}
"""Every way for a version of `writer` to go live, for all or for some."""


def dealt(doors: Iterable[str], states: Sequence[str]) -> dict[str, list[str]]:
    """Distribute the doors over the states, each of which gets two: one gate decides at all of them."""
    endless = cycle(doors)
    return {state: [next(endless), next(endless)] for state in states}


def _live(cast: Cast) -> str:
    return str(cast.alice.get(AGENTS.url("writer")).body["activeVersionId"])


def test_no_way_to_publish_works_without_evidence(cast: Cast, draft: str, dataset: str) -> None:
    """Every door, and every state at some door; in Python and in the studio every way without evidence."""
    make_gate(cast.alice, dataset, agent=None)
    live = _live(cast)
    nothing_was_run, *other_states = STATES
    for name, doors in {nothing_was_run: list(DOORS), **dealt(DOORS, other_states)}.items():
        prepare, state, rule = STATES[name]
        with undone():
            prepare(cast.edgar, dataset, draft)
            for door in doors:
                with undone():
                    of_new = ("new", state if state == "scorer_gone" else "missing", None)
                    expected = of_new if door == "create" else ("writer", state, rule)
                    assert (DOORS[door](cast, draft), _live(cast)) == ([expected], live), (name, door)
    for publish_in_python in IN_PYTHON.values():
        with pytest.raises(Forbidden) as refused:
            publish_in_python(AGENTS, draft, None)
        assert refused.value.code == "evaluation_required"
    before = everything()
    for name, publish_in_the_studio in IN_THE_STUDIO.items():
        answer = publish_in_the_studio(AGENTS, draft, None)
        assert answer.status == (200 if "many" in name else 403), name
    assert everything() == before


def test_every_way_to_publish_works_with_evidence(cast: Cast, draft: str, dataset: str) -> None:
    make_gate(cast.alice, dataset)
    _run_live(cast.edgar, dataset)
    experiment = evidence(cast.edgar, dataset, draft)
    checked = cast.edgar.get(f"{GATES}/check", kind="agent", id="writer", versionId=draft).body
    assert (checked["ok"], [one["experimentId"] for one in checked["gates"]]) == (True, [experiment])
    for door, publish in DOORS.items():
        with undone():
            assert publish(cast, draft) == [], door


def test_an_admin_may_publish_without_evidence_with_a_reason(cast: Cast, draft: str, dataset: str) -> None:
    gate = make_gate(cast.alice, dataset)
    url, bypass = (
        AGENTS.url("writer", "versions", draft, "activate"),
        {"bypassEvaluation": {"reason": REASON}},
    )
    assert cast.paula.post(url, bypass).code == "forbidden"
    assert cast.alice.post(url, {"bypassEvaluation": {"reason": " "}}).fields == ["bypassEvaluation.reason"]
    with undone():
        assert cast.alice.post(url, bypass).status == 200
        [entry] = Event.objects.filter(type="gate.bypassed")
        assert (entry.actor, entry.version_id, entry.detail["reason"]) == ("alice", draft, REASON)
        assert entry.detail["gateId"] == gate["id"]
    assert cast.paula.patch(f"{GATES}/{gate['id']}", {"bypass": "nobody"}).status == 200
    assert cast.alice.post(url, bypass).code == "forbidden"
    assert cast.alice.post(url, {"bypassEvaluation": {"reason": REASON}, "x": 1}).status == 400


def test_what_was_live_is_free_and_so_is_everything_where_the_gate_is_off(
    cast: Cast, draft: str, dataset: str
) -> None:
    gate = make_gate(cast.alice, dataset)
    live = cast.alice.get(AGENTS.url("writer")).body["activeVersionId"]
    restored = cast.edgar.post(AGENTS.url("writer", "versions", live, "restore")).body
    AGENTS.publish(cast.paula, "writer", restored["id"])  # another version of the same text
    AGENTS.publish(cast.paula, "writer", live)
    assert states(cast.paula.post(AGENTS.url("writer", "versions", draft, "activate")))
    assert cast.paula.post(AGENTS.url("writer", "unpublish")).status in {200, 404}
    cast.paula.patch(f"{GATES}/{gate['id']}", {"enabled": False})
    AGENTS.publish(cast.paula, "writer", draft)


def test_a_comma_makes_evidence_void_and_the_same_text_again_makes_it_good(
    cast: Cast, draft: str, dataset: str
) -> None:
    make_gate(cast.alice, dataset)
    _run_live(cast.edgar, dataset)
    evidence(cast.edgar, dataset, draft)
    comma = AGENTS.save(cast.edgar, text=f"{DRAFT},")["latestVersionId"]
    assert states(cast.paula.post(AGENTS.url("writer", "versions", comma, "activate"))) == [
        ("writer", "missing", None)
    ]
    again = AGENTS.save(cast.edgar, text=DRAFT)["latestVersionId"]
    assert again != draft
    AGENTS.publish(cast.paula, "writer", again)


def test_runs_of_one_configuration_count_together(cast: Cast, draft: str, dataset: str) -> None:
    """A run adds attempts, and replaces none; too few attempts of one run may be enough together."""
    make_gate(cast.alice, dataset, rules=[{"rule": "passRate", "min": 0.9}], attempts=2)
    url = AGENTS.url("writer", "versions", draft, "activate")
    evidence(cast.edgar, dataset, draft, lambda number: number % 2 == 0)
    assert states(cast.paula.post(url)) == [("writer", "incomplete", None)]
    evidence(cast.edgar, dataset, draft)  # 75 of 100 together
    assert states(cast.paula.post(url)) == [("writer", "failed", "passRate")]
    start(cast.edgar, dataset, selector={"versionId": draft}, attempts=2)
    assert states(cast.paula.post(url)) == [("writer", "failed", "passRate")]
    evidence(cast.edgar, dataset, draft, attempts=2)  # 87.5 of 100
    assert states(cast.paula.post(url)) == [("writer", "failed", "passRate")]
    evidence(cast.edgar, dataset, draft, attempts=2)
    assert cast.paula.post(url).status == 200


@pytest.mark.database
def test_a_rule_that_changes_while_the_gate_is_asked_counts(cast: Cast, draft: str, dataset: str) -> None:
    """As where another transaction holds the gate to change it, and the publication waits for that."""
    make_gate(cast.alice, dataset, rules=[{"rule": "passRate", "min": 0}])
    evidence(cast.edgar, dataset, draft, lambda number: number % 2 == 0)
    changes = iter([{"rules_json": '[{"rule": "passRate", "min": 1}]'}])

    def read_then_change(execute: Any, sql: str, *given: Any) -> Any:
        result = execute(sql, *given)
        if '"evaluation_gate"' in sql and (change := next(changes, None)):
            Gate.objects.update(**change)
        return result

    with connection.execute_wrapper(read_then_change):
        answer = cast.paula.post(AGENTS.url("writer", "versions", draft, "activate"))
    assert states(answer) == [("writer", "failed", "passRate")]


@pytest.fixture
def block(cast: Cast, dataset: str) -> Iterator[str]:
    """A draft of a block that the live agent `writer` shows, and the agent `lead` runs that."""
    made = PROMPT_BLOCKS.make(cast.edgar, "tone", "kind")
    PROMPT_BLOCKS.publish(cast.alice, "tone", made["latestVersionId"])
    shown = AGENTS.make(cast.edgar, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    AGENTS.publish(cast.alice, "writer", shown["latestVersionId"])
    lead = AGENTS.make(cast.edgar, "lead", "Lead.", agents={"writer": {}})
    AGENTS.publish(cast.alice, "lead", lead["latestVersionId"])
    return str(PROMPT_BLOCKS.save(cast.edgar, "tone", "curt")["latestVersionId"])


def test_a_block_asks_the_gates_of_the_agents_that_show_it(cast: Cast, block: str, dataset: str) -> None:
    url = PROMPT_BLOCKS.url("tone", "versions", block, "activate")
    make_gate(cast.alice, dataset, agent="lead", rules=[{"rule": "passRate", "min": 0.5}])
    assert states(cast.paula.post(url)) == [("lead", "missing", None)]
    make_gate(cast.alice, dataset)
    assert sorted(states(cast.paula.post(url))) == [("lead", "missing", None), ("writer", "missing", None)]
    both = _release(cast, [_item("promptBlock", "tone", block)])
    for agent, selected in (("lead", {"release": both}), ("writer", {"release": both}), ("writer", {})):
        finish(start(cast.edgar, dataset, agent, **selected))
    assert cast.edgar.get(f"{GATES}/check", kind="promptBlock", id="tone", versionId=block).body["ok"]
    assert cast.paula.post(url).status == 200
    older = cast.edgar.get(PROMPT_BLOCKS.url("tone", "versions")).body["versions"][-1]["id"]
    PROMPT_BLOCKS.publish(cast.paula, "tone", older)  # it was live before


def _item(kind: str, resource_id: str, version_id: str) -> dict[str, Any]:
    return {
        "resource": {"kind": kind, "id": resource_id},
        "action": "publish",
        "versionId": version_id,
    }


def _release(cast: Cast, items: list[dict[str, Any]]) -> str:
    answer = cast.edgar.post("/releases", {"workspaceId": "acme", "title": "Both", "items": items})
    return str(answer.body["id"])


def test_a_release_is_judged_as_a_whole(cast: Cast, block: str, dataset: str) -> None:
    make_gate(cast.alice, dataset, rules=[{"rule": "passRate", "min": 0.5}])
    parts = [{"type": "text", "content": "Hello. "}, {"type": "prompt_block_ref", "id": "tone"}]
    agent = AGENTS.save(cast.edgar, "writer", parts)["latestVersionId"]
    release = _release(cast, [_item("agent", "writer", agent), _item("promptBlock", "tone", block)])
    evidence(cast.edgar, dataset, agent)  # with the block that is live
    refused = cast.paula.post(f"/releases/{release}/publish")
    assert (refused.status, refused.code) == (409, "release_blocked")
    assert {one["code"] for one in refused.body["problems"]} == {"evaluation_required"}
    checked = cast.edgar.get(f"{GATES}/check", release=release).body
    assert [(one["resource"]["id"], one["state"]) for one in checked["gates"]] == [("writer", "missing")]
    evidence(cast.edgar, dataset, release=release)
    assert cast.edgar.get(f"{GATES}/check", release=release).body["ok"] is True
    assert cast.paula.post(f"/releases/{release}/publish").status == 200


def test_an_agent_that_is_taken_down_in_the_same_release_is_not_asked(
    cast: Cast, block: str, dataset: str
) -> None:
    make_gate(cast.alice, dataset, agent="lead", rules=[{"rule": "passRate", "min": 0.5}])
    down = [
        {"resource": {"kind": kind, "id": resource_id}, "action": "unpublish"}
        for kind, resource_id in (("promptBlock", "tone"), ("agent", "lead"))
    ]
    block_alone, both = _release(cast, down[:1]), _release(cast, down)
    assert cast.paula.post(f"/releases/{block_alone}/publish").code == "release_blocked"
    assert cast.paula.post(f"/releases/{both}/publish").status == 200


def test_an_override_asks_too_as_a_file_and_when_files_are_imported(
    cast: Cast, dataset: str, folder: Folder, settings: Any
) -> None:
    define(settings, folder.root)
    by_hand = {"instructions": "by hand"}
    folder.put(by_hand)
    Dataset.objects.update(workspace="default")
    unguard(Scorer.objects.all()).update(workspace="default")
    make_gate(
        cast.root, dataset, agent="answers", workspaceId="default", rules=[{"rule": "passRate", "min": 0}]
    )
    overrides = get_editor().agent
    draft = overrides.update("answers", instructions="two", publish=False).version.version_id
    url = AGENTS.url("answers", "versions", draft, "activate")
    assert (states(cast.root.post(url)), folder.config()) == ([("answers", "missing", None)], by_hand)
    evidence(cast.root, dataset, draft, agent="answers")
    assert (cast.root.post(url).status, folder.config()) == (200, {"instructions": "two"})
    define(settings, folder.root, source="database")
    folder.put(by_hand)
    with pytest.raises(Exception, match="refused"):
        command("import_overrides")


def test_what_is_missing_is_started_once_and_what_failed_is_not_run_again(
    cast: Cast, block: str, dataset: str
) -> None:
    """Of an agent that shows a block, what is live is run too; a release is run as a whole."""
    make_gate(cast.alice, dataset)
    make_gate(cast.alice, dataset, agent="lead", rules=[{"rule": "passRate", "min": 0.5}])
    subject = {"resource": {"kind": "promptBlock", "id": "tone"}, "versionId": block}
    assert cast.vera.post(f"{GATES}/run", subject).code == "forbidden"
    started = cast.edgar.post(f"{GATES}/run", subject)
    assert (started.status, len(started.body["experiments"])) == (202, 3)
    assert cast.edgar.post(f"{GATES}/run", subject).body == {"experiments": []}
    url = PROMPT_BLOCKS.url("tone", "versions", block, "activate")
    assert {state for _, state, _ in states(cast.paula.post(url))} == {"running"}
    for experiment in started.body["experiments"]:
        is_lead = Experiment.objects.get(pk=experiment).target_id == "lead"
        finish(experiment, lambda _, passes=not is_lead: passes)
    assert states(cast.paula.post(url)) == [("lead", "failed", "passRate")]
    assert cast.edgar.post(f"{GATES}/run", subject).body == {"experiments": []}
    release = _release(cast, [_item("promptBlock", "tone", block)])
    assert cast.edgar.post(f"{GATES}/run", {"releaseId": release}).body == {"experiments": []}
    assert cast.edgar.post(f"{GATES}/run", {}).fields == ["releaseId"]
    assert cast.edgar.post(f"{GATES}/run", {**subject, "releaseId": release}).fields == ["releaseId"]


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
def test_no_item_is_added_between_the_check_and_the_change(
    cast: Cast, draft: str, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_gate(cast.alice, dataset)
    affected_by = gate_evidence.affected_by
    outcomes = []

    def add_meanwhile() -> None:
        try:
            with transaction.atomic():
                list(Dataset.objects.select_for_update(nowait=True))
            outcomes.append("added")
        except OperationalError:
            outcomes.append("waits")
        finally:
            connection.close()

    def judge(*arguments: Any) -> Any:
        thread = Thread(target=add_meanwhile)
        thread.start()
        thread.join()
        return affected_by(*arguments)

    monkeypatch.setattr(gate_evidence, "affected_by", judge)
    assert cast.alice.post(AGENTS.url("writer", "versions", draft, "activate")).status == 403
    assert outcomes and set(outcomes) == {"waits"}


SHOWN = "shows"
"""An agent that shows the prompt block `writer`, with a gate."""
RATE = [{"rule": "passRate", "min": 0.5}]


def _show(api: Api, workspace: str = "acme") -> None:
    """Make an agent that shows the live version of the block, live as well."""
    part = {"type": "prompt_block_ref", "id": "writer"}
    body = AGENTS.body([part], id=SHOWN, workspaceId=workspace, autoPublish=True)
    answer = api.post(AGENTS.path, body)
    assert answer.status == 201, answer.body


def _refused(answer: Answer) -> tuple[States, int]:
    return states(answer), answer.body["hiddenGates"]


def _block_by_release(cast: Cast, draft: str, action: str = "publish") -> Answer:
    item = {**_item("promptBlock", "writer", draft), "action": action}
    if action == "unpublish":
        del item["versionId"]
    release = _release(cast, [item])
    answer = cast.alice.post(f"/releases/{release}/publish")
    assert (answer.status, answer.code) == (409, "release_blocked")
    assert [one["code"] for one in answer.body["problems"]] == ["evaluation_required"]
    return cast.alice.post(PROMPT_BLOCKS.url("writer", "versions", draft, "activate"))


def _block_by_schedule(cast: Cast, draft: str) -> Answer:
    done = run(scheduled(cast.alice, PROMPT_BLOCKS, draft, runAt=ahead(24)), cast.alice)
    assert (done["state"], done["code"]) == ("failed", "evaluation_required")
    return cast.alice.post(PROMPT_BLOCKS.url("writer", "versions", draft, "activate"))


BLOCK_DOORS: dict[str, Callable[[Cast, str], Answer]] = {
    **{
        name: lambda cast, draft, door=door: door(cast, PROMPT_BLOCKS, draft, None)
        for name, door in OVER_HTTP.items()
        if name != "create"
    },
    "release": _block_by_release,
    "schedule": _block_by_schedule,
    "arm": lambda cast, draft: start_rollout(cast.alice, PROMPT_BLOCKS, arm(draft)),
    "unpublish": lambda cast, _: cast.alice.post(PROMPT_BLOCKS.url("writer", "unpublish")),
    "delete": lambda cast, _: cast.alice.delete(PROMPT_BLOCKS.url("writer")),
    "unpublish by a release": lambda cast, draft: _block_by_release(cast, draft, "unpublish"),
}
"""Every way to change what agents show of a block: to publish it, to release it, to take it away."""


@pytest.mark.database
@pytest.mark.parametrize("workspace", ["acme", "elsewhere"])
def test_whatever_changes_what_an_agent_says_asks_its_gates(cast: Cast, dataset: str, workspace: str) -> None:
    """By every door, and in another workspace, too, where the gate is counted and not named."""
    draft = make_draft(cast, PROMPT_BLOCKS)
    _show(cast.root, workspace)
    Dataset.objects.update(workspace=workspace)
    unguard(Scorer.objects.all()).update(workspace=workspace)
    make_gate(cast.root, dataset, agent=SHOWN, workspaceId=workspace, rules=RATE)
    expected = ([(SHOWN, "missing", None)], 0) if workspace == "acme" else ([], 1)
    for name, change in BLOCK_DOORS.items():
        with undone():
            assert _refused(change(cast, draft)) == expected, name
    before = everything()
    for name, publish_in_python in IN_PYTHON.items():
        if name != "create":
            with pytest.raises(Forbidden) as refused:
                publish_in_python(PROMPT_BLOCKS, draft, None)
            assert refused.value.code == "evaluation_required"
    assert everything() == before
    checked = cast.alice.get(f"{GATES}/check", kind="promptBlock", id="writer", versionId=draft).body
    assert (checked["ok"], len(checked["gates"]), checked["hiddenGates"]) == (
        False,
        *map(len, [expected[0]]),
        expected[1],
    )


def test_a_bypass_takes_an_admin_of_the_workspace_of_the_gate(cast: Cast, dataset: str) -> None:
    """Whether the block goes live or is taken away; over the deletion, the reason is in the address."""
    draft = make_draft(cast, PROMPT_BLOCKS)
    _show(cast.root, "elsewhere")
    Dataset.objects.update(workspace="elsewhere")
    unguard(Scorer.objects.all()).update(workspace="elsewhere")
    gate = make_gate(cast.root, dataset, agent=SHOWN, workspaceId="elsewhere", rules=RATE)
    bypass = {"bypassEvaluation": {"reason": REASON}}
    for url in (
        PROMPT_BLOCKS.url("writer", "versions", draft, "activate"),
        PROMPT_BLOCKS.url("writer", "unpublish"),
    ):
        assert cast.alice.post(url, bypass).code == "forbidden"
        with undone():
            assert cast.root.post(url, bypass).status == 200
    url = f"{PROMPT_BLOCKS.url('writer')}?bypassEvaluation={REASON}"
    assert cast.alice.delete(url).code == "forbidden"
    assert cast.root.delete(url).status == 200
    [entry] = Event.objects.filter(type="gate.bypassed")
    assert (entry.actor, entry.detail["gateId"], entry.detail["reason"]) == ("root", gate["id"], REASON)


def test_that_a_block_was_live_frees_no_agent_that_never_showed_that(cast: Cast, dataset: str) -> None:
    """Only what the agent showed itself is free, with everything as it was then."""
    draft = make_draft(cast, PROMPT_BLOCKS)
    first = cast.alice.get(PROMPT_BLOCKS.url("writer")).body["activeVersionId"]
    PROMPT_BLOCKS.publish(cast.alice, "writer", draft)
    _show(cast.alice)
    make_gate(cast.alice, dataset, agent=SHOWN, rules=RATE)
    old = PROMPT_BLOCKS.url("writer", "versions", first, "activate")
    assert states(cast.paula.post(old)) == [(SHOWN, "missing", None)]
    newer = PROMPT_BLOCKS.save(cast.edgar, "writer", "four")["latestVersionId"]
    reason = {"bypassEvaluation": {"reason": REASON}}
    assert cast.alice.post(PROMPT_BLOCKS.url("writer", "versions", newer, "activate"), reason).status == 200
    PROMPT_BLOCKS.publish(cast.paula, "writer", draft)  # as the agent showed it before
    assert states(cast.paula.post(old)) == [(SHOWN, "missing", None)]


def test_an_older_version_of_an_agent_is_free_only_with_the_blocks_of_its_time(
    cast: Cast, dataset: str
) -> None:
    draft = make_draft(cast, PROMPT_BLOCKS)
    _show(cast.alice)
    first = cast.alice.get(AGENTS.url(SHOWN)).body["activeVersionId"]
    plain = AGENTS.save(cast.edgar, SHOWN, "No block.")["latestVersionId"]
    AGENTS.publish(cast.alice, SHOWN, plain)
    make_gate(cast.alice, dataset, agent=SHOWN, rules=RATE)
    with undone():
        AGENTS.publish(cast.paula, SHOWN, first)
    PROMPT_BLOCKS.publish(cast.paula, "writer", draft)  # no agent shows it
    answer = cast.paula.post(AGENTS.url(SHOWN, "versions", first, "activate"))
    assert states(answer) == [(SHOWN, "missing", None)]


def test_what_was_live_last_is_compared_with(cast: Cast, draft: str, dataset: str) -> None:
    """Unpublishing an agent first frees no version of the comparison."""
    make_gate(cast.alice, dataset)
    _run_live(cast.edgar, dataset)
    evidence(cast.edgar, dataset, draft, lambda number: number > 5)
    assert cast.paula.post(AGENTS.url("writer", "unpublish")).status == 200
    for door, publish in DOORS.items():
        if door not in {
            "create",
            "arm",
            "complete a rollout",
            "widen a rollout",
        }:  # a rollout needs an active version
            with undone():
                assert publish(cast, draft) == [("writer", "failed", "notWorse")], door


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
def test_pages_ask_about_unpublishing_without_locks(cast: Cast, dataset: str) -> None:
    make_draft(cast, PROMPT_BLOCKS)
    _show(cast.root)
    make_gate(cast.root, dataset, agent=SHOWN, rules=RATE)
    block = {"kind": "promptBlock", "id": "writer"}
    release = _release(cast, [{"resource": block, "action": "unpublish"}])
    checked = cast.alice.get(f"/releases/{release}/check")
    assert [one["code"] for one in checked.body["problems"]] == ["evaluation_required"]
    body = {"resource": block, "action": "unpublish", "runAt": ahead(24)}
    assert cast.alice.post("/schedules", body).status == 201
    [schedule] = cast.alice.get("/schedules").body["schedules"]
    assert [one["code"] for one in schedule["problems"]] == ["evaluation_required"]


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
def test_what_others_are_making_live_is_seen(
    cast: Cast, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent begins to show a block while another version of that goes live: one waits for the other."""
    draft = make_draft(cast, PROMPT_BLOCKS)
    shows = _draft_that_shows(cast)
    make_gate(cast.alice, dataset, agent=SHOWN, rules=RATE)
    evidence(cast.edgar, dataset, shows, targetId=SHOWN)
    judge_request = gate_check.judge_request
    answers: list[Answer] = []
    threads: list[Thread] = []

    def publish_the_block() -> None:
        try:
            answers.append(cast.paula.post(PROMPT_BLOCKS.url("writer", "versions", draft, "activate")))
        finally:
            connection.close()

    def judge(*arguments: Any) -> Any:
        said = judge_request(*arguments)
        if not threads:
            threads.append(Thread(target=publish_the_block))
            threads[0].start()
            threads[0].join(timeout=2)  # long enough for one that waits for nothing
        return said

    monkeypatch.setattr(gate_check, "judge_request", judge)
    assert cast.paula.post(AGENTS.url(SHOWN, "versions", shows, "activate")).status == 200
    threads[0].join()
    assert states(answers[0]) == [(SHOWN, "missing", None)]


def test_an_agent_is_judged_with_the_arms_of_what_it_shows(cast: Cast, dataset: str) -> None:
    """What a rollout gives some requests goes live with the agent, too."""
    draft = make_draft(cast, PROMPT_BLOCKS)
    assert start_rollout(cast.alice, PROMPT_BLOCKS, arm(draft, weight=1)).status == 201
    shows = _draft_that_shows(cast)
    make_gate(cast.alice, dataset, agent=SHOWN, rules=RATE)
    evidence(cast.edgar, dataset, shows, targetId=SHOWN)
    activate = AGENTS.url(SHOWN, "versions", shows, "activate")
    assert states(cast.paula.post(activate)) == [(SHOWN, "missing", None)]
    subject = {"resource": {"kind": "agent", "id": SHOWN}, "versionId": shows}
    [missing] = cast.edgar.post(f"{GATES}/run", subject).body["experiments"]
    finish(missing)
    assert cast.paula.post(activate).status == 200


def test_a_schedule_says_what_keeps_it_from_unpublishing(cast: Cast, dataset: str) -> None:
    make_draft(cast, PROMPT_BLOCKS)
    _show(cast.root)
    make_gate(cast.root, dataset, agent=SHOWN, rules=RATE)
    made = scheduled(cast.alice, PROMPT_BLOCKS, None, action="unpublish")
    [problem] = cast.alice.get(f"/schedules/{made['id']}").body["problems"]
    done = run(made, cast.alice)
    assert (done["state"], done["code"], done["error"]) == ("failed", problem["code"], problem["message"])
    assert problem["code"] == "evaluation_required"


def _draft_that_shows(cast: Cast) -> str:
    """Make an agent that shows the block, and return its draft."""
    part = {"type": "prompt_block_ref", "id": "writer"}
    body = AGENTS.body([part], id=SHOWN, autoPublish=False)
    assert cast.alice.post(AGENTS.path, body).status == 201
    return str(cast.alice.get(AGENTS.url(SHOWN), status="draft").body["latestVersionId"])


@pytest.mark.parametrize("agent", ["answers", "team/lead"])
def test_a_block_asks_the_gates_of_agents_whose_files_show_it(
    cast: Cast, dataset: str, folder: Folder, agent: str
) -> None:
    """Files that people have written by hand, and that no version of the database describes."""
    make_draft(cast, PROMPT_BLOCKS)
    unguard(PromptBlock.objects.all()).update(workspace="default")
    Dataset.objects.update(workspace="default")
    unguard(Scorer.objects.all()).update(workspace="default")
    folder.put({"instructions": [{"type": "prompt_block_ref", "id": "writer"}]})
    make_gate(cast.root, dataset, agent=agent, workspaceId="default", rules=RATE)
    draft = cast.root.get(PROMPT_BLOCKS.url("writer"), status="draft").body["latestVersionId"]
    for answer in (
        cast.root.post(PROMPT_BLOCKS.url("writer", "versions", draft, "activate")),
        cast.root.post(PROMPT_BLOCKS.url("writer", "unpublish")),
    ):
        assert states(answer) == [(agent, "missing", None)]
