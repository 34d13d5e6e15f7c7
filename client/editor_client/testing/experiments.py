"""Experiments of the editor in memory: an agent answers at once, by `generate`, and `score` scores it.

With `start: false` the application answers, as in a real editor. Estimates, limits, cancelling, further
attempts and most filters of results are for a real editor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from statistics import fmean
from typing import Any, Final

from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_scorers import SCORERS
from editor_client.result import with_json_names
from editor_client.shared import canonical
from editor_client.shared.agents import messages_of
from editor_client.shared.errors import Invalid
from editor_client.shared.pairing import Run, Scored, Yardstick, compare
from editor_client.shared.scores import passes
from editor_client.shared.statistics import wilson
from editor_client.testing import serving
from editor_client.testing.agents import as_lock, locked, parts_by_lock
from editor_client.testing.datasets import DATASETS, ITEMS, scored
from editor_client.testing.editor import Editor
from editor_client.testing.object_lists import PAGING, Collection, Row, made
from editor_client.testing.protocol import Answer, Json, Refused, Request, refuse_unknown, required, route
from editor_client.testing.resources import now

PATH: Final = "/datasets/*/experiments"
_OWN_MEMBERS: Final = ("name", "description", "metadata", "targetType", "targetId")
_START_MEMBERS: Final = ("selector", "lock", "baseline", "scorerIds", "primaryScorer", "requestContext")
_ASKED: Final = ("input", "groundTruth")


def _started(editor: Editor, given: Json, dataset_id: str) -> Row:
    dataset, items = DATASETS.by_id(editor, dataset_id).content, ITEMS.rows(editor, (dataset_id,))
    if not items:
        raise Invalid.field("datasetId", "has no items in this version", code="no_items")
    if given["targetType"] != ("agent" if given["start"] else None):
        raise Invalid.field("targetType", "is an agent here; without a target, send start: false")
    lock = None
    if given["start"]:
        selector = serving.selector_of(given["selector"] or {})
        lock = given["lock"] or as_lock(editor, locked(editor, AGENTS, given["targetId"], selector))
    scorers = _pinned(editor, given, dataset, lock)
    members = {
        **{name: given[name] for name in (*_OWN_MEMBERS, "attempts")},
        "workspaceId": dataset["workspaceId"],
        "datasetId": dataset_id,
        "datasetVersion": dataset["version"],
        "datasetDigest": dataset["digest"],
        "requestContext": given["requestContext"] or None,
        "lock": lock,
        "lockDigest": lock and lock["digest"],
        "pairOf": _baseline(editor, given, dataset_id),
        "scorers": scorers,
        "scorerIds": [one["scorerId"] for one in scorers],
        **dict.fromkeys(("outcome", "completedAt")),
        "startedBy": editor.username,
        "startedAt": now(),
        "totalItems": len(items),
    }
    row = made(editor, members, dataset_id)
    if lock is not None:
        for attempt in range(given["attempts"]):
            for item in reversed(items):
                answer = _answer(editor, row.content, item.content, given["requestContext"])
                _keep(editor, row, item.content, {"attempt": attempt, **answer})
    return _counted(editor, row, ends=lock is not None)


EXPERIMENTS: Final = Collection(
    PATH,
    "experiments",
    optional={**dict.fromkeys([*_OWN_MEMBERS, *_START_MEMBERS]), "start": True, "attempts": 1},
    filters=["targetType", "targetId"],
    make=_started,
    changeable=["name", "description", "metadata"],
    actions=["list", "read", "change", "delete"],
    nests_paging=True,
)
RESULTS: Final = Collection(
    f"{PATH}/*/results",
    "results",
    filters=["itemId"],
    actions=["list"],
    nests_paging=True,
    direction="ASC",
)


@route("POST", PATH)
def _start(editor: Editor, request: Request) -> Answer:
    return Answer({"results": [], **start(editor, request.names[0], request.body)}, status=201)


def start(editor: Editor, dataset_id: str, given: Mapping[str, Any]) -> Json:
    """Start an experiment, as `POST` does, and return it."""
    [row], _ = EXPERIMENTS.add(editor, (dataset_id,), [given])
    return {**row.content, "experimentId": row.content["id"]}


@route("GET", "/experiments", *PAGING, "workspaceId", "targetType", "targetId")
def _all(editor: Editor, request: Request) -> Answer:
    wanted = {name: value for name, value in request.query.items() if name not in PAGING}
    return EXPERIMENTS.page(request, (row for row in EXPERIMENTS.rows(editor) if row.matches(wanted)))


def _pinned(editor: Editor, given: Json, dataset: Json, lock: Json | None) -> list[Json]:
    """Return the scorers: of the request, or of the dataset, or of the agent."""
    named = dataset["scorerIds"] if given["scorerIds"] is None else given["scorerIds"]
    if named is None and lock is not None:
        agent = editor.find(AGENTS, given["targetId"])
        named = agent.version(lock["agents"][agent.id]["versionId"]).config.get("scorers")
    found = [editor.find(SCORERS, one) for one in named or ()]
    primary = given["primaryScorer"] or next((one.id for one in found), None)
    return [
        {"scorerId": one.id, "versionId": (one.active or one.latest).id, "primary": one.id == primary}
        for one in found
    ]


def _baseline(editor: Editor, given: Json, dataset_id: str) -> str | None:
    """Return the id of the baseline, which is run if it is a version."""
    wanted: str | None = given["baseline"]
    if wanted is None or any(row.content["id"] == wanted for row in EXPERIMENTS.rows(editor)):
        return wanted
    selector = {"status": "published"} if wanted == "published" else {"versionId": wanted}
    other = {**given, "baseline": None, "lock": None, "selector": selector}
    return str(start(editor, dataset_id, other)["id"])


def _answer(editor: Editor, experiment: Json, item: Json, context: Json | None) -> Json:
    """Return what the agent of an experiment answers to an item, or why it failed."""
    context = {**(context or {}), **(item["requestContext"] or {})}
    body = {"messages": messages_of(item["input"]), "requestContext": context}
    try:
        parts = parts_by_lock(editor, experiment["targetId"], experiment["lock"], "lock")
        return {"output": serving.run(parts, body, editor.generate)[1]["text"]}
    except Exception as error:
        code = getattr(error, "code", "run_failed")
        if code == "not_in_fake_editor":
            raise
        return {"error": {"message": str(error), "code": code}}


def _keep(editor: Editor, experiment: Row, item: Json, given: Mapping[str, Any]) -> Row:
    """Keep the result of an item and an attempt, in place of an earlier one, with its scores."""
    error, asked = given.get("error"), {name: given.get(name, item[name]) for name in _ASKED}
    about = {"itemId": item["id"], "attempt": given.get("attempt", 0)}
    scores = _scores(editor, experiment.content, {**item, **asked}, given) if error is None else ()
    members = {
        **about,
        **asked,
        "output": given.get("output"),
        "metadata": item["metadata"],
        "experimentId": experiment.content["id"],
        "error": error,
        "scores": list(scores),
    }
    row = made(editor, members, *experiment.owners, experiment.content["id"])
    RESULTS.remove(
        editor, row.owners, [one for one in RESULTS.rows(editor, row.owners) if one.matches(about)]
    )
    RESULTS.rows(editor).insert(0, row)
    return row


def _scores(editor: Editor, experiment: Json, item: Json, given: Mapping[str, Any]) -> Iterator[Json]:
    """Yield the scores of an output: those that were sent, and what the other scorers say."""
    sent = {one["scorerId"]: one for one in given.get("scores") or ()}
    pinned = {one["scorerId"]: one["versionId"] for one in experiment["scorers"]}
    asked = {"input": item["input"], "output": given.get("output"), "metadata": item["metadata"] or {}}
    if item["groundTruth"] is not None:
        asked["groundTruth"] = item["groundTruth"]
    for scorer_id in dict.fromkeys([*pinned, *sent]):
        version = pinned.get(scorer_id)
        config = editor.find(SCORERS, scorer_id).version(version).config if version else None
        if scorer_id in sent:
            score = sent[scorer_id]["score"]
            said = {"score": score, "passed": None if config is None else passes(config, score)}
        else:
            said = scored(editor, config or {}, asked)
        yield {"scorerId": scorer_id, "scorerVersionId": version, "error": None, "notScorable": None, **said}


@route("POST", f"{PATH}/*/results")
def _submit(editor: Editor, request: Request) -> Answer:
    body, experiment = request.body, EXPERIMENTS.row(editor, request)
    refuse_unknown(body, ("itemId", "attempt", "output", "error", "scores", *_ASKED))
    [item_id] = required(body, "itemId")
    if experiment.content["outcome"]:
        raise Refused(409, "experiment_ended", "This experiment has ended.")
    row = _keep(editor, experiment, ITEMS.by_id(editor, request.names[0], item_id).content, body)
    _counted(editor, experiment)
    return Answer(row.content, status=201)


@route("POST", f"{PATH}/*/finalize")
def _finalize(editor: Editor, request: Request) -> Answer:
    return Answer(_counted(editor, EXPERIMENTS.row(editor, request), ends=True).content)


def run_of(editor: Editor, experiment: Json) -> Run:
    """Return what is known of an experiment, for the rules of comparisons and gates."""
    rows = RESULTS.rows(editor, (experiment["datasetId"], experiment["id"]))
    results = [row.content for row in reversed(rows)]
    yardsticks = {}
    for one in experiment["scorers"]:
        config = editor.find(SCORERS, one["scorerId"]).version(one["versionId"]).config
        yardsticks[one["scorerId"]] = Yardstick.of(one["scorerId"], config, None, is_primary=one["primary"])
    scores: defaultdict[str, defaultdict[str, Scored]] = defaultdict(lambda: defaultdict(Scored))
    for result in results:
        for one in (one for one in result["scores"] if one["notScorable"] is None):
            yardsticks.setdefault(one["scorerId"], Yardstick.sent(one["scorerId"]))
            said = scores[one["scorerId"]][result["itemId"]]
            said.errors += one["error"] is not None
            said.values += [] if one.get("score") is None else [float(one["score"])]
            said.passed += [] if one.get("passed") is None else [one["passed"]]
    for scorer_id in yardsticks:
        for result in (one for one in results if one["error"] is not None):
            scores[scorer_id][result["itemId"]].errors += 1
    asked = {one["itemId"]: {name: one[name] for name in _ASKED} for one in results}
    return Run(
        id=experiment["id"],
        started_at=datetime.fromisoformat(experiment["startedAt"]),
        models=frozenset(),
        attempts=experiment["attempts"],
        yardsticks=yardsticks,
        contents={item_id: canonical.comparable(one) for item_id, one in asked.items()},
        scores=scores,
        tags={one["itemId"]: frozenset((one["metadata"] or {}).get("tags") or ()) for one in results},
    )


def _counted(editor: Editor, row: Row, *, ends: bool = False) -> Row:
    """Set the counts and the summary of an experiment, and its end."""
    experiment = row.content
    if ends and experiment["outcome"] is None:
        experiment |= {"outcome": "complete", "completedAt": now(), "updatedAt": now()}
    outcome, run = experiment["outcome"], run_of(editor, experiment)
    results = [one.content for one in RESULTS.rows(editor, (*row.owners, experiment["id"]))]
    said = [score for one in results for score in one["scores"]]
    summary = [_summed(one, list(run.scores[one].values()), said) for one in run.yardsticks]
    errors = sum(one["error"] is not None for one in results)
    left = (cells := experiment["totalItems"] * experiment["attempts"]) - len(results)
    experiment |= {
        "status": "completed" if outcome else "running" if results else "pending",
        "counts": {
            "cells": cells,
            "done": len(results) - errors,
            "errors": errors,
            "skipped": left if outcome else 0,
            "queued": 0 if outcome else left,
            "notScorable": sum(one["notScorable"] for one in summary if one["scorerId"] == run.primary),
        },
        "spent": {**dict.fromkeys(("inputTokens", "outputTokens", "milliseconds"), 0), "cost": None},
        "summary": summary,
    }
    return row


def _summed(scorer_id: str, items: list[Scored], said: list[Json]) -> Json:
    mine = [one for one in said if one["scorerId"] == scorer_id]
    values = [one.value for one in items if one.values]
    rates = [one.pass_share for one in items if one.passed]
    return {
        "scorerId": scorer_id,
        "n": len(values),
        "mean": fmean(values) if values else None,
        "passed": rates.count(1),
        "passRate": fmean(rates) if rates else None,
        "interval": list(wilson(sum(rates), len(rates))) if rates else None,
        "flaky": sum(1 for one in items if one.is_flaky),
        "errors": sum(1 for one in mine if one["error"] is not None),
        "notScorable": sum(1 for one in mine if one["notScorable"] is not None),
    }


@route("GET", f"{PATH}/*/compare", "page", "perPage", "baseline")
def _compare(editor: Editor, request: Request) -> Answer:
    here = EXPERIMENTS.row(editor, request).content
    wanted = request.query.get("baseline") or here["pairOf"]
    if wanted is None:
        raise Invalid.field("baseline", "is required: it has none of its own")
    found = next((row.content for row in EXPERIMENTS.rows(editor) if row.content["id"] == wanted), None)
    if found is None:
        raise Invalid.field("baseline", "does not exist, or you may not read it")
    comparison = compare(run_of(editor, here), run_of(editor, found))
    paged = request.page("items", [_json(one) for one in comparison.items], size=10, nests_paging=True)
    own = {name: getattr(comparison, name) for name in ("pairs", "not_contemporary")}
    own |= {"scorers": [_json(one) for one in comparison.scorers], "leftOut": _json(comparison.left_out)}
    return Answer({**with_json_names(own), **paged.content})


def _json(value: Any) -> Json:
    return with_json_names({name: one for name, one in asdict(value).items() if name != "items"})
