"""Gates: who reads and writes them, what is refused, and each rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from capabilities.evaluation.experiments.models import Cell, Experiment, Score
from capabilities.evaluation.experiments.running import remove_old
from tests.conftest import Cast
from tests.support.api import AGENTS, SCORERS, Api
from tests.support.calls import undone
from tests.support.gates import GATES, evidence, finish, make_gate, make_scored_dataset, start, states
from tests.support.interruptions import Countdown
from tests.support.people import key_of
from tests.support.scorers import make_scorer
from versioning.models import Event


@pytest.fixture
def dataset(cast: Cast) -> str:
    AGENTS.make(cast.edgar)
    return make_scored_dataset(cast.alice)


def test_a_gate_keeps_what_it_is_given(cast: Cast, dataset: str) -> None:
    rules = [{"rule": "allPass", "tag": "must"}, {"rule": "nonInferior", "margin": 0.05}]
    made = make_gate(cast.paula, dataset, rules=rules)
    assert made["resource"] == {"kind": "agent", "id": "writer"}
    assert (made["primaryScorer"], made["attempts"], made["evidenceDays"]) == ("exact", 1, 30)
    assert (made["bypass"], made["enabled"], made["rules"]) == ("admin", True, rules)
    url = f"{GATES}/{made['id']}"
    changed = cast.paula.patch(url, {"attempts": 3, "evidenceDays": 7}).body
    assert (changed["attempts"], changed["evidenceDays"], changed["rules"]) == (3, 7, rules)
    assert cast.edgar.get(GATES, id="writer").body["gates"] == [changed] == [cast.edgar.get(url).body]
    assert cast.edgar.get(GATES, id="other").body["total"] == 0
    assert cast.paula.delete(url).body["success"] is True
    assert cast.edgar.get(url).status == 404
    logged = Event.objects.filter(type__startswith="gate.").order_by("position")
    assert [one.type for one in logged] == ["gate.created", "gate.changed", "gate.deleted"]
    assert logged[1].detail["fields"] == ["attempts", "evidenceDays"]


def test_gates_of_a_whole_workspace_are_for_admins_and_of_agents_for_their_publishers(
    cast: Cast, dataset: str
) -> None:
    make_gate(cast.paula, dataset)
    everywhere = f"{GATES}/{make_gate(cast.alice, dataset, agent=None)['id']}"
    body = {"workspaceId": "acme", "datasetId": dataset.rpartition("/")[2], "scorerIds": ["exact"]}
    body["rules"] = [{"rule": "notWorse"}]
    assert cast.paula.post(GATES, body).status == 403
    assert cast.paula.post(GATES, {**body, "resource": {"kind": "agent", "id": "nobody"}}).status == 404
    assert cast.paula.patch(everywhere, {"enabled": False}).status == 403
    assert cast.paula.delete(everywhere).status == 403
    totals = [api.get(GATES).body["total"] for api in (cast.edgar, cast.vera, cast.charlie)]
    assert totals == [2, 0, 0]


def test_what_does_not_fit_is_refused_by_its_name(cast: Cast, dataset: str) -> None:
    body = {
        "resource": {"kind": "agent", "id": "writer"},
        "datasetId": dataset.rpartition("/")[2],
        "scorerIds": ["exact"],
        "rules": [{"rule": "notWorse"}],
    }
    wrong: list[tuple[dict[str, Any], list[str]]] = [
        ({"resource": {"kind": "promptBlock", "id": "tone"}}, ["resource.kind"]),
        ({"datasetId": "8b7d3a3e-0000-4000-8000-000000000000"}, ["datasetId"]),
        ({"datasetId": "x"}, ["datasetId"]),
        ({"scorerIds": []}, ["scorerIds"]),
        ({"scorerIds": ["exact", "nobody", "exact"]}, ["scorerIds.1", "scorerIds.2"]),
        ({"primaryScorer": "other"}, ["primaryScorer"]),
        ({"rules": []}, ["rules"]),
        ({"rules": [{"rule": "best"}]}, ["rules.0"]),
        ({"rules": [{"rule": "passRate"}]}, ["rules.0.min"]),
        ({"rules": [{"rule": "passRate", "min": 1.1}]}, ["rules.0.min"]),
        ({"rules": [{"rule": "notWorse", "min": 1}]}, ["rules.0.min"]),
        ({"rules": [{"rule": "allPass", "scorerId": "other"}]}, ["rules.0.scorerId"]),
        ({"attempts": 0}, ["attempts"]),
        ({"evidenceDays": 366}, ["evidenceDays"]),
        ({"bypass": "everybody"}, ["bypass"]),
        ({"name": "x"}, ["name"]),
    ]
    for given, fields in wrong:
        answer = cast.alice.post(GATES, {**body, **given})
        assert (answer.status, answer.fields) == (400, fields)


def test_a_dataset_and_a_gate_are_of_one_workspace(cast: Cast, dataset: str) -> None:
    elsewhere = cast.root.post("/datasets", {"name": "Elsewhere", "workspaceId": "elsewhere"}).body["id"]
    gate = make_gate(cast.alice, dataset)
    answer = cast.root.patch(f"{GATES}/{gate['id']}", {"datasetId": elsewhere})
    assert (answer.status, answer.fields) == (400, ["datasetId"])
    body = {"workspaceId": "elsewhere", "resource": {"kind": "agent", "id": "writer"}, "datasetId": elsewhere}
    answer = cast.root.post(GATES, {**body, "scorerIds": ["exact"], "rules": [{"rule": "notWorse"}]})
    assert (answer.status, answer.fields) == (400, ["resource"])


def test_a_dataset_with_a_gate_stays_and_a_gate_goes_with_its_agent(cast: Cast, dataset: str) -> None:
    gate = make_gate(cast.alice, dataset)
    assert cast.edgar.delete(dataset).code == "forbidden"
    answer = cast.paula.delete(dataset)
    assert (answer.status, answer.code) == (409, "in_use")
    dependent = {"id": gate["id"], "name": "writer: Questions", "kind": "gate"}
    assert answer.body["dependents"] == [dependent]
    assert cast.edgar.get(SCORERS.url("exact", "dependents")).body["dependents"] == [dependent]
    limited = key_of("paula", workspace="acme", id_prefix="exact")
    assert limited.delete(dataset).status == 404
    assert cast.alice.patch(dataset, {"targetType": "scorer", "targetIds": ["exact"]}).status == 200
    refused = limited.delete(dataset).body
    assert (refused["dependents"], refused["hiddenCount"]) == ([], 1) and "writer" not in refused["error"]
    assert limited.get(SCORERS.url("exact", "dependents")).body["dependents"] == []
    assert cast.alice.delete(AGENTS.url("writer")).status == 200
    assert cast.alice.get(GATES).body["total"] == 0
    AGENTS.make(cast.edgar)
    assert cast.edgar.delete(dataset).status == 200


def always(_number: int) -> bool:
    return True


Passes = Callable[[int], bool]
RULES: list[tuple[dict[str, Any], Passes, Passes | None, bool]] = [
    ({"rule": "allPass"}, always, None, True),
    ({"rule": "allPass"}, lambda number: number != 11, None, False),
    ({"rule": "allPass", "tag": "must"}, lambda number: number < 2, None, True),
    ({"rule": "allPass", "tag": "must"}, lambda number: number != 0, None, False),
    ({"rule": "allPass", "tag": "nobody"}, always, None, False),
    ({"rule": "passRate", "min": 0.5}, lambda number: number < 6, None, True),
    ({"rule": "passRate", "min": 0.51}, lambda number: number < 6, None, False),
    ({"rule": "notWorse"}, lambda number: number > 4, always, True),  # 5 of 12 is not found
    ({"rule": "notWorse"}, lambda number: number > 5, always, False),
    ({"rule": "nonInferior", "margin": 0.2}, always, always, True),
    ({"rule": "nonInferior", "margin": 0.15}, lambda number: number > 8, always, False),
    ({"rule": "noNewFailures"}, lambda number: number < 6, lambda number: number < 6, True),
    ({"rule": "noNewFailures"}, lambda number: number > 0, lambda number: number < 6, False),
    ({"rule": "maxTokens", "ratio": 1}, always, always, True),
    ({"rule": "maxTokens", "ratio": 0.99}, always, always, False),
]
"""Each rule, which items pass, which passed before if something is live, and whether that suffices."""


def test_each_rule(cast: Cast, dataset: str) -> None:
    first = cast.edgar.get(AGENTS.url("writer"), status="draft").body["latestVersionId"]
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    for rule, passes, was, is_satisfied in RULES:
        with undone():
            if was is not None:
                AGENTS.publish(cast.alice, "writer", first)
                evidence(cast.edgar, dataset, None, was)
            evidence(cast.edgar, dataset, draft, passes)
            make_gate(cast.alice, dataset, rules=[rule])
            answer = cast.paula.post(AGENTS.url("writer", "versions", draft, "activate"))
            failed = [] if answer.status == 200 else states(answer)
            assert failed == ([] if is_satisfied else [("writer", "failed", rule["rule"])]), rule


def test_where_nothing_is_live_nothing_is_worse_than_that(cast: Cast, dataset: str) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.alice, dataset, rules=[{"rule": "notWorse"}, {"rule": "noNewFailures"}])
    assert states(cast.paula.post(AGENTS.url("writer", "versions", draft, "activate")))
    evidence(cast.edgar, dataset, draft)
    AGENTS.publish(cast.paula, "writer", draft)


def test_a_namesake_is_not_free_because_its_former_was_live(cast: Cast, dataset: str) -> None:
    free = AGENTS.make(cast.paula, "again", autoPublish=True)["latestVersionId"]
    make_gate(cast.alice, dataset, agent=None, rules=[{"rule": "passRate", "min": 0}])
    assert cast.paula.post(AGENTS.url("again", "unpublish")).status == 200
    AGENTS.publish(cast.paula, "again", free)
    assert cast.paula.delete(AGENTS.url("again")).status == 200
    namesake = AGENTS.make(cast.edgar, "again")["latestVersionId"]
    answer = cast.paula.post(AGENTS.url("again", "versions", namesake, "activate"))
    assert states(answer) == [("again", "missing", None)]


def test_a_database_that_does_not_answer_a_gate_refuses(cast: Cast, dataset: str) -> None:
    """Whichever of the statements about gates and evidence is lost."""
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.alice, dataset, rules=[{"rule": "passRate", "min": 0}])
    evidence(cast.edgar, dataset, draft)
    lost = 0
    while True:
        answers = Countdown(lost)

        def lose(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if "evaluation_" in sql and answers.is_over():  # noqa: B023  it is of this round
                raise OperationalError("the connection is lost")
            return execute(sql, params, many, context)

        with connection.execute_wrapper(lose):
            answer = cast.paula.post(AGENTS.url("writer", "versions", draft, "activate"))
        if answer.status == 200:
            break
        assert (answer.status, answer.code) == (503, "database_unavailable")
        assert cast.edgar.get(AGENTS.url("writer")).body["activeVersionId"] is None
        lost += 1
    assert lost >= 3  # the gates, the experiments, and their results


def test_a_scorer_that_changed_or_is_gone_makes_evidence_stale(cast: Cast, dataset: str) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.alice, dataset, rules=[{"rule": "passRate", "min": 0}])
    evidence(cast.edgar, dataset, draft)
    url = AGENTS.url("writer", "versions", draft, "activate")
    newer = cast.edgar.patch(SCORERS.url("exact"), {"config": {"ignoreCase": True}}).body["latestVersionId"]
    assert cast.edgar.get(f"{GATES}/check", kind="agent", id="writer").body["ok"] is True  # it is a draft
    SCORERS.publish(cast.alice, "exact", newer)
    assert states(cast.paula.post(url)) == [("writer", "stale", None)]
    assert cast.alice.delete(SCORERS.url("exact")).status == 200
    assert states(cast.paula.post(url)) == [("writer", "scorer_gone", None)]


def test_evidence_waits_for_the_scores_that_an_application_sends(cast: Cast, dataset: str) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    people = make_scorer(cast.alice, "what people say", "external")
    SCORERS.publish(cast.alice, "what people say", people["latestVersionId"])
    scorers = ["what people say"]
    gate = make_gate(cast.alice, dataset, scorerIds=scorers, rules=[{"rule": "allPass"}])
    assert (gate["scorerIds"], gate["primaryScorer"]) == (scorers, scorers[0])
    experiment = start(cast.edgar, dataset, selector={"versionId": draft}, scorerIds=scorers)
    finish(experiment)
    some = Score.objects.filter(run_id=experiment).first()
    assert some is not None
    some.delete()
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert states(cast.paula.post(url)) == [("writer", "incomplete", None)]
    score = {"scorerId": scorers[0], "runId": experiment, "entityId": some.entity_id, "score": 1}
    assert cast.edgar.post("/scores", {"score": score}).status == 201
    assert cast.paula.post(url).status == 200


def test_outputs_on_which_a_gate_rests_are_kept(cast: Cast, dataset: str, settings: Any) -> None:
    """All that counts together keeps its outputs, as long as the gate is on."""
    gate = make_gate(cast.alice, dataset)
    version = AGENTS.versions(cast.alice)[0]["id"]
    _, *counting = (evidence(cast.alice, dataset, version, attempts=one) for one in (1, 1, 2))
    Experiment.objects.exclude(pk__in=counting).update(created_at=timezone.now() - timedelta(days=31))
    settings.EDITOR_KEEP_RESULTS = 1e-9
    Cell.objects.update(ended_at=timezone.now())

    def kept() -> set[str]:
        remove_old()
        return set(Cell.objects.exclude(output_json="").values_list("experiment_id", flat=True))

    assert kept() == set(counting)
    assert cast.alice.patch(f"{GATES}/{gate['id']}", {"enabled": False}).status == 200
    assert kept() == set()


def test_evidence_is_what_ran_as_the_gate_wants_it(cast: Cast, dataset: str) -> None:
    """In the gate's own request context, and with its policy for tools; `run` starts just that."""
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    context = {"tier": "gold"}
    gate = make_gate(
        cast.paula, dataset, rules=[{"rule": "allPass"}], requestContext=context, toolPolicy="allow"
    )
    assert (gate["requestContext"], gate["toolPolicy"], gate["datasetPolicy"]) == (context, "allow", "latest")
    url = AGENTS.url("writer", "versions", draft, "activate")
    for others in ({}, {"requestContext": context}, {"unmockedToolPolicy": "allow"}):
        evidence(cast.edgar, dataset, draft, **others)
        assert states(cast.paula.post(url)) == [("writer", "missing", None)]
    subject = {"resource": {"kind": "agent", "id": "writer"}, "versionId": draft}
    [experiment] = cast.edgar.post(f"{GATES}/run", subject).body["experiments"]
    shown = cast.edgar.get(f"/experiments/{experiment}").body
    assert (shown["requestContext"], shown["unmockedToolPolicy"]) == (context, "allow")
    finish(experiment)
    assert cast.paula.post(url).status == 200
    assert cast.paula.patch(f"{GATES}/{gate['id']}", {"requestContext": None}).body["requestContext"] == {}


def test_what_was_live_until_it_was_unpublished_is_run_too(cast: Cast, dataset: str) -> None:
    first = cast.edgar.get(AGENTS.url("writer"), status="draft").body["latestVersionId"]
    AGENTS.publish(cast.paula, "writer", first)
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.paula, dataset)
    assert cast.paula.post(AGENTS.url("writer", "unpublish")).status == 200
    subject = {"resource": {"kind": "agent", "id": "writer"}, "versionId": draft}
    answer = cast.edgar.post(f"{GATES}/run", subject)
    assert (answer.status, len(answer.body["experiments"])) == (202, 2)
    for experiment in answer.body["experiments"]:
        finish(experiment)
    AGENTS.publish(cast.paula, "writer", draft)


def test_a_gate_names_a_version_of_its_dataset_or_who_may_publish_changes_it(
    cast: Cast, dataset: str
) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    gate = make_gate(cast.paula, dataset, rules=[{"rule": "allPass"}])
    item = {"input": "Question 12", "groundTruth": "Answer 12"}
    first = cast.edgar.get(f"{dataset}/items").body["items"][0]["id"]

    def changes(api: Api) -> list[int]:
        with undone():
            answers = [
                api.post(f"{dataset}/items", item),
                api.patch(f"{dataset}/items/{first}", {"scorerIds": []}),
                api.delete(f"{dataset}/items/{first}"),
                api.patch(dataset, {"scorerIds": ["exact"]}),
            ]
        return [one.status for one in answers]

    assert set(changes(cast.edgar)) == {403} and not set(changes(cast.paula)) & {403}
    url = f"{GATES}/{gate['id']}"
    assert cast.paula.patch(url, {"datasetPolicy": 7}).fields == ["datasetPolicy"]
    assert cast.paula.patch(url, {"datasetPolicy": 1}).body["datasetPolicy"] == 1
    assert 403 not in changes(cast.edgar)
    assert cast.edgar.delete(f"{dataset}/items/{first}/purge").code == "forbidden"
    evidence(cast.edgar, dataset, draft)
    assert cast.edgar.post(f"{dataset}/items", item).status == 201
    AGENTS.publish(cast.paula, "writer", draft)


def test_too_few_items_are_enough_only_where_the_gate_says_so(cast: Cast, dataset: str) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    AGENTS.publish(cast.alice, "writer", draft)
    newer = AGENTS.save(cast.edgar, text="newer")["latestVersionId"]
    rule = {"rule": "nonInferior", "margin": 0.1}
    gate = make_gate(cast.paula, dataset, rules=[rule, {"rule": "passRate", "min": 0.5}])
    evidence(cast.edgar, dataset, draft)
    evidence(cast.edgar, dataset, newer)
    url = AGENTS.url("writer", "versions", newer, "activate")
    assert states(cast.paula.post(url)) == [("writer", "tooFew", "nonInferior")]
    assert cast.paula.patch(f"{GATES}/{gate['id']}", {"tooFew": "allow"}).status == 200
    [said] = cast.edgar.get(f"{GATES}/check", kind="agent", id="writer", versionId=newer).body["gates"]
    assert (said["ok"], said["state"], said["rule"]) == (True, "tooFew", rule)
    with undone():
        assert cast.paula.post(url).status == 200
    evidence(cast.edgar, dataset, newer, lambda _number: False, attempts=2)
    assert states(cast.paula.post(url)) == [("writer", "failed", "passRate")]


def test_an_experiment_that_counts_is_not_deleted(cast: Cast, dataset: str) -> None:
    """Nor a newer one; what is older, or about something else, goes, and the log says so."""
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    stopped = evidence(cast.edgar, dataset, draft)
    Experiment.objects.filter(pk=stopped).update(outcome="cancelled")
    gate = make_gate(cast.paula, dataset, rules=[{"rule": "allPass"}])
    counts = evidence(cast.edgar, dataset, draft, lambda number: number > 0)
    newer = start(cast.edgar, dataset, selector={"versionId": draft})
    for one in (counts, newer):
        refused = cast.alice.delete(f"{dataset}/experiments/{one}")
        assert (refused.status, refused.code) == (409, "in_use")
    elsewhere = start(cast.edgar, dataset, requestContext={"tier": "gold"}, selector={"versionId": draft})
    assert cast.edgar.delete(f"{dataset}/experiments/{elsewhere}").status == 200
    assert cast.paula.patch(f"{GATES}/{gate['id']}", {"enabled": False}).status == 200
    assert cast.edgar.delete(f"{dataset}/experiments/{counts}").status == 200
    logged = Event.objects.filter(type="experiment.deleted").order_by("position")
    assert [(one.actor, one.detail["experimentId"]) for one in logged] == [
        ("edgar", elsewhere),
        ("edgar", counts),
    ]


def test_scores_that_come_from_outside_count_only_if_the_gate_was_made_with_them(
    cast: Cast, dataset: str
) -> None:
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    make_gate(cast.paula, dataset, rules=[{"rule": "allPass"}])
    newer = cast.alice.patch(SCORERS.url("exact"), {"type": "external", "config": {}}).body
    SCORERS.publish(cast.alice, "exact", newer["latestVersionId"])
    evidence(cast.edgar, dataset, draft)
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert states(cast.paula.post(url)) == [("writer", "stale", None)]
