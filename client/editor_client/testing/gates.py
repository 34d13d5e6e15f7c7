"""Gates of the editor in memory: what they ask for, by the rules of `editor_client.shared.gates`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_scorers import SCORERS
from editor_client.shared import gates
from editor_client.shared.configurations import Config
from editor_client.shared.gates import Evidence
from editor_client.shared.pairing import Run
from editor_client.testing.agents import Shown, as_lock, reached
from editor_client.testing.datasets import DATASETS
from editor_client.testing.editor import CHECKS, PUBLISHED, Editor
from editor_client.testing.experiments import EXPERIMENTS, run_of, start
from editor_client.testing.object_lists import Collection, Row, made
from editor_client.testing.protocol import Answer, Json, Refused, Request, required, route
from editor_client.testing.resources import AnyKind, Resource, Version

_RULED: Final[Json] = {
    "primaryScorer": None,
    "attempts": 1,
    "evidenceDays": 30,
    "requestContext": {},
    "toolPolicy": "deny",
    "datasetPolicy": "latest",
    "tooFew": "refuse",
    "bypass": "admin",
    "enabled": True,
}
_NEEDED: Final = ("datasetId", "scorerIds", "rules")


def _created(editor: Editor, given: Json) -> Row:
    DATASETS.by_id(editor, given["datasetId"])
    about = given["resource"] and editor.named(given["resource"]["kind"], given["resource"]["id"])
    primary = given["primaryScorer"] or given["scorerIds"][0]
    row = made(editor, {**given, "workspaceId": editor.workspace, "primaryScorer": primary})
    row.about = about
    return row


def _lock(editor: Editor, agent: Resource, shown: Shown) -> Json | None:
    called = shown(AGENTS, agent.id)
    return as_lock(editor, reached({(AGENTS, agent.id): called}, shown)) if called else None


def _note_what_is_live(editor: Editor) -> None:
    """Keep what agents show and run now: that was live, and is compared with once nothing is."""
    for agent in editor.all(AGENTS):
        lock = _lock(editor, agent, editor.active)
        if lock is not None:
            agent.showed.add(gates.target_digest(lock))
            agent.last_lock = lock


PUBLISHED.append(_note_what_is_live)


def _affected(
    editor: Editor, resource: Resource, version: Version
) -> Iterator[tuple[Resource, Json, Json | None]]:
    """Yield the agents of which something else would be live, with the locks of that and of what is live."""

    def after(kind: AnyKind, name: str) -> Version | None:
        return version if (kind, name) == (resource.kind, resource.id) else editor.active(kind, name)

    agents = {one.id: one for one in editor.all(AGENTS)}
    if resource.kind is AGENTS:
        agents[resource.id] = resource
    for agent in agents.values():
        then, at_present = _lock(editor, agent, after), _lock(editor, agent, editor.active)
        if then is not None and (
            agent is resource or gates.target_digest(then) != gates.target_digest(at_present or {})
        ):
            yield agent, then, at_present or agent.last_lock


def _judgements(editor: Editor, resource: Resource, version: Version) -> Iterator[Json]:
    """Yield what each gate says, with the gate, and the locks of what would be live and of what is."""
    asking = [row.content for row in GATES.rows(editor) if row.content["enabled"]]
    for agent, after, live in _affected(editor, resource, version):
        if gates.target_digest(after) in agent.showed:
            continue
        for gate in (one for one in reversed(asking) if one["resource"] in (None, agent.reference)):
            here = _evidence(editor, gate, agent, after)
            other = None if live is None else partial(_evidence, editor, gate, agent, live)
            allows = gate["tooFew"] == "allow"
            run = partial(_run, editor, gate)
            answer = gates.judged(gate["rules"], here, other, run, allows_too_few=allows)
            yield {
                "gateId": gate["id"],
                "resource": agent.reference,
                "state": answer.state,
                "rule": answer.rule,
                "experimentId": answer.experiment and answer.experiment["id"],
                "ok": answer.state is None or answer.is_allowed,
                "gate": gate,
                "locks": (after, live),
            }


def _evidence(editor: Editor, gate: Json, agent: Resource, lock: Json) -> Evidence[Json]:
    dataset = DATASETS.by_id(editor, gate["datasetId"]).content
    scorers = {one: editor.get(SCORERS, one) for one in gate["scorerIds"]}
    published = {name: one and one.active and one.active.id for name, one in scorers.items()}
    mine = (row.content for row in EXPERIMENTS.rows(editor, (dataset["id"],)))

    def pinned(one: Json) -> Json:
        return {scorer["scorerId"]: scorer["versionId"] for scorer in one["scorers"]}

    wanted = dataset["version"] if gate["datasetPolicy"] == "latest" else gate["datasetPolicy"]
    return gates.gathered_evidence(
        [
            one
            for one in mine
            if one["targetId"] == agent.id
            and one["lock"]
            and (one["requestContext"] or {}) == (gate["requestContext"] or {})
            and gates.target_digest(one["lock"]) == gates.target_digest(lock)
        ],
        is_present=lambda one: (
            one["datasetVersion"] == wanted
            and all(
                version and pinned(one).get(name, version) == version for name, version in published.items()
            )
        ),
        is_whole=lambda one: (
            published.keys() <= pinned(one).keys()
            and one["counts"]["done"] == one["counts"]["cells"]
            and not any(summary["errors"] for summary in one["summary"])
        ),
        is_running=lambda one: one["outcome"] is None,
        attempts=lambda one: int(one["attempts"]),
        wanted=gate["attempts"],
    )


def _run(editor: Editor, gate: Json, experiment: Json) -> Run:
    run = run_of(editor, experiment)
    own = {
        one: replace(run.yardsticks[one], is_primary=one == gate["primaryScorer"])
        for one in gate["scorerIds"]
    }
    return replace(run, yardsticks=own)


def _check(editor: Editor, resource: Resource, config: Config, options: Mapping[str, Any]) -> None:
    """Refuse what lacks evidence, unless the request bypasses the gates."""
    version = Version(number=0, config=config, changed=[], message="", author=editor.username)
    failing = [one for one in _judgements(editor, resource, version) if not one["ok"]]
    reason = options.get("bypassEvaluation")
    if failing and reason and any(one["gate"]["bypass"] == "nobody" for one in failing):
        raise Refused(403, "forbidden", "One of the gates lets no one publish without evidence.")
    if failing and not reason:
        agent_id, state = failing[0]["resource"]["id"], failing[0]["state"]
        message = f"The agent {agent_id!r} lacks the evidence that a gate asks for: it is {state}."
        raise Refused(
            403, "evaluation_required", message, evaluation=[_shown(one) for one in failing], hiddenGates=0
        )


CHECKS.append(_check)


def _shown(judgement: Json, *more: str) -> Json:
    return {name: judgement[name] for name in ("gateId", "resource", "state", "rule", "experimentId", *more)}


def _asked(editor: Editor, kind: str, resource_id: str, version_id: str | None) -> list[Json]:
    resource = editor.named(kind, resource_id)
    version = resource.latest if version_id is None else resource.version(version_id)
    return list(_judgements(editor, resource, version))


@route("GET", "/gates/check", "kind", "id", "versionId")
def _check_gates(editor: Editor, request: Request) -> Answer:
    kind, resource_id = required(request.query, "kind", "id")
    found = _asked(editor, kind, resource_id, request.query.get("versionId"))
    shown = [_shown(one, "ok") for one in found]
    return Answer({"ok": all(one["ok"] for one in shown), "gates": shown, "hiddenGates": 0})


@route("POST", "/gates/run")
def _run_gates(editor: Editor, request: Request) -> Answer:
    [about] = required(request.body, "resource")
    started = []
    for one in _asked(editor, about["kind"], about["id"], request.body.get("versionId")):
        gate, agent = one["gate"], editor.find(AGENTS, one["resource"]["id"])
        for lock in one["locks"] if one["state"] not in {None, gates.State.FAILED} else ():
            if lock is not None and _evidence(editor, gate, agent, lock).lacks is not None:
                given = {"targetType": "agent", "targetId": agent.id, "lock": lock}
                ruled = {
                    name: gate[name] for name in ("scorerIds", "primaryScorer", "attempts", "requestContext")
                }
                started.append(start(editor, gate["datasetId"], {**given, **ruled})["id"])
    return Answer({"experiments": started}, status=202)


GATES: Final = Collection(
    "/gates",
    "gates",
    needed=_NEEDED,
    optional={"resource": None, "workspaceId": None, **_RULED},
    filters=["id", "workspaceId"],
    make=_created,
    changeable=[*_NEEDED, *_RULED],
    direction="ASC",
)
