"""Create, read, change, delete and check gates, and start the experiments that they lack.

Reading gates requires access to the workspace's drafts. Writing requires the right to publish or, for a gate
of all agents of a workspace, an admin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.gates import GateState
from pydantic.alias_generators import to_camel

from capabilities.evaluation.datasets.models import Dataset, DatasetVersion
from capabilities.evaluation.datasets.verbs import find_dataset, unknown_scorers
from capabilities.evaluation.experiments.results import EXTERNAL, JUDGE
from capabilities.evaluation.experiments.starting import PUBLISHED_BASELINE
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.gates.affected import iter_requests
from capabilities.evaluation.gates.evidence import Judgement, judge_request, known_to
from capabilities.evaluation.gates.models import LATEST, Gate, GateQuerySet, ScorerPin
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.scoring.verbs import Dependent
from versioning.domain.access import APPLICATION, Action, Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.events import Target, VersionName
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.selectors import DRAFT, Selector
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.gate import GateRequest, PublishRequest
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import Agent, PromptBlock, events
from versioning.models.followers import Follower
from versioning.models.rules import validate
from versioning.serving.grants import target_of
from versioning.serving.overlays import read_overlay
from versioning.verbs import Verbs

_WAITING = frozenset({None, GateState.RUNNING})
"""States that need no new experiment: the evidence exists or is running."""


class Change(NamedTuple):
    """A planned change: a version of a resource goes live, or a release is published."""

    kind: str | None = None
    resource_id: str | None = None
    version_id: str | None = None
    """By default the latest."""
    release_id: str | None = None
    member: str = "release"
    """The member that names the release in requests."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The judgements of the gates about a change."""

    gates: Sequence[Judgement]
    """The gates about agents that the caller may know of."""
    hidden_gates: int
    """The number of other unsatisfied gates."""

    @property
    def ok(self) -> bool:
        """Whether all are satisfied."""
        return not self.hidden_gates and all(gate.ok for gate in self.gates)


def check_change(gates: Verbs, change: Change, *, by: Who = APPLICATION) -> Checked:
    """Return the judgements of the gates about a change.

    A configuration that was live before is free: no gate refuses it. Raises `NotFound`, `Forbidden` without
    the right to read drafts, and `Invalid` unless exactly one change is named.
    """
    caller = caller_of(by)
    visible, hidden = [], set()
    for judgement in _judgements(_requests(gates.editor, change, caller)):
        if known_to(caller, judgement):
            visible.append(judgement)
        elif not judgement.ok:
            hidden.add(judgement.gate.pk)
    return Checked(gates=visible, hidden_gates=len(hidden))


def _requests(editor: Editor, change: Change, by: Caller) -> Sequence[GateRequest]:
    kind, resource_id, version_id, release_id, _ = change
    alternatives = [kind is not None or resource_id is not None, release_id is not None]
    if alternatives == [False, True]:
        selector = Selector.parse({"release": str(release_id)})
        if selector.overlay is None:
            raise Invalid.field("release", Message("this installation has no releases"))
        return list(iter_requests(read_overlay(selector.overlay, by).versions, by))
    if kind is None or resource_id is None or all(alternatives):
        raise Invalid.field(change.member, Message("give either a resource, by kind and id, or a release"))
    if kind not in KINDS_BY_SLUG:
        raise Invalid.field("kind", Message("is unknown"))
    collection = editor.collection(KINDS_BY_SLUG[kind])
    if version_id is None:
        version_id = collection.get(resource_id, DRAFT, by=by).version.version_id
    stored_version = collection.version(resource_id, version_id, by=by)
    by.require(Right.READ_DRAFTS, stored_version.resource.workspace_id)
    return [PublishRequest(resource=stored_version.resource, version=stored_version.version, caller=by)]


def _judgements(requests: Sequence[GateRequest]) -> Iterator[Judgement]:
    """Yield each judgement once, although several items of a release may affect one agent."""
    keys = set()
    for request in requests:
        for judgement in judge_request(request):
            key = judgement.gate.pk, judgement.affected.id, judgement.affected.after_digest
            if key not in keys:
                keys.add(key)
                yield judgement


def run_missing(gates: Verbs, change: Change, *, by: Who = APPLICATION) -> list[str]:
    """Start the experiments that the gates lack, including those of live versions; return their ids.

    Failed and running evaluations are not started again. Requires the right to save; raises as `check_change`
    and `Experiments.start` do.
    """
    caller = caller_of(by)
    caller.require_action(Action.RUN)
    experiments = gates.editor.capability(Experiments)
    started: list[str] = []
    requests = _requests(gates.editor, change, caller)
    for request in requests:
        caller.require(Right.SAVE, request.resource.workspace_id)
    for judgement in _judgements(requests):
        missing = missing_run(judgement) if known_to(caller, judgement) else None
        if missing is None:
            continue
        experiment = experiments.start(missing.dataset_id, missing.request, by=caller).experiment
        started.append(experiment.pk)
        if missing.runs_live and experiment.pair_of_id is not None:
            started.append(experiment.pair_of_id)
    return started


class MissingRun(NamedTuple):
    """An experiment whose result a gate lacks."""

    dataset_id: str
    request: Mapping[str, Any]
    """The request for it, as `Experiments.start` and `estimate` take it."""
    runs_live: bool
    """Whether its baseline is a run of the last live configuration, which the gate also lacks."""


def missing_run(judgement: Judgement) -> MissingRun | None:
    """Return the missing experiment of a gate about an agent; None if none would help, or it is running."""
    gate, affected = judgement.gate, judgement.affected
    if judgement.state is GateState.SCORER_GONE:
        return None
    wants_live = judgement.lacks_live not in _WAITING
    if affected.after is not None and judgement.lacks_here not in _WAITING:
        lock = affected.after
        baseline = judgement.live_id
        if wants_live and affected.live is not None:  # a version, if the agent was unpublished
            is_unpublished = Agent.objects.filter(pk=affected.id, active_version=None).exists()
            version_id = affected.live["agents"][affected.id]["versionId"]
            baseline = str(version_id) if is_unpublished else PUBLISHED_BASELINE
        elif wants_live:
            baseline = None
    elif wants_live and affected.live is not None:
        lock, baseline = affected.live, None
    else:
        return None
    request = {
        "targetType": "agent",
        "targetId": affected.id,
        "scorerIds": gate.scorer_ids,
        "primaryScorer": gate.primary_scorer,
        "attempts": gate.attempts,
        "version": gate.dataset_version,
        "requestContext": gate.request_context or None,
        "unmockedToolPolicy": gate.tool_policy,
        "lock": lock,
        "baseline": baseline,
    }
    fields = {name: value for name, value in request.items() if value is not None}
    return MissingRun(str(gate.dataset_id), fields, runs_live=wants_live and baseline is not None)


PLAIN = ("attempts", "evidence_days", "tool_policy", "too_few", "bypass", "enabled")
"""The fields with values as sent."""
OTHERS = ("scorer_ids", "primary_scorer", "rules", "request_context", "dataset_policy")


def list_gates(
    *, workspace: str | None = None, agent_id: str | None = None, by: Who = APPLICATION
) -> QuerySet[Gate]:
    """Return the gates that the caller may read; with an agent, those about it."""
    gates = Gate.objects.readable_by(caller_of(by)).select_related("dataset")
    if workspace is not None:
        gates = gates.filter(workspace=workspace)
    return gates if agent_id is None else gates.filter(agent_id__in=[agent_id, ""])


def gates_naming(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield the gates that score with a scorer."""
    for gate in Gate.objects.readable_by(by).select_related("dataset").naming_scorer(scorer_id):
        yield Dependent(str(gate.pk), str(gate), "gate")


def find_gate(gate_id: str, *, by: Who = APPLICATION) -> Gate:
    """Return a gate; raises `NotFound` if the caller may not read it."""
    return _find_among(Gate.objects.all(), gate_id, caller_of(by))


def _find_among(rows: GateQuerySet, gate_id: str, by: Caller) -> Gate:
    gate = rows.readable_by(by).select_related("dataset").filter(pk=parse_uuid(gate_id)).first()
    if gate is None:
        raise NotFound
    return gate


@retry_on_conflict
def create_gate(
    gates: Verbs,
    fields: Mapping[str, Any],
    *,
    agent_id: str | None = None,
    workspace: str | None = None,
    by: Who = APPLICATION,
) -> Gate:
    """Create a gate of an agent, or without one of all agents of a workspace.

    `fields` are the fields of the model, with `dataset_id`, `scorer_ids` and `rules`. Raises `Invalid` naming
    missing resources, and `Forbidden`.
    """
    caller = caller_of(by)
    identity: UUID | None = None
    if agent_id is None:
        workspace_id = workspace_for(caller, workspace)
    else:
        target = target_of(gates.editor.agent.find_or_defined(agent_id, by=caller), gates.editor.code)
        caller.require_publish(target.workspace_id)
        if workspace not in {None, target.workspace_id}:
            raise Invalid.field("resource", Message("belongs to another workspace"))
        workspace_id, identity = target.workspace_id, target.identity
    gate = Gate(
        workspace_id=workspace_id, agent_id=agent_id or "", identity=identity, author_id=caller.user_id
    )
    _require(gate, caller)
    with events.transaction():
        _set(gates.editor, gate, fields, caller)
        gate.save(force_insert=True)
        gate.record("created", caller)
    return gate


@retry_on_conflict
def change_gate(gates: Verbs, gate_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION) -> Gate:
    """Change the given fields; see `create_gate`."""
    caller = caller_of(by)
    with events.transaction():
        gate = _find_among(Gate.objects.with_lock(), gate_id, caller)
        _require(gate, caller)
        before = _fields(gate)
        _set(gates.editor, gate, changes, caller)
        after = _fields(gate)
        fields = sorted(name for name, value in after.items() if not canonical.same(value, before[name]))
        if fields:
            gate.updated_at = timezone.now()
            gate.save()
            gate.record("changed", caller, fields=fields)
    return gate


@retry_on_conflict
def delete_gate(gate_id: str, *, by: Who = APPLICATION) -> None:
    """Delete a gate."""
    caller = caller_of(by)
    with events.transaction():
        gate = _find_among(Gate.objects.with_lock(), gate_id, caller)
        _require(gate, caller)
        gate.record("deleted", caller)
        gate.delete()


def _require(gate: Gate, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may write the gate."""
    by.require_publish(gate.workspace_id)
    by.require_covered(gate.agent_id)
    if not gate.agent_id:
        by.require(Right.ADMINISTER, gate.workspace_id)


def _fields(gate: Gate) -> dict[str, Any]:
    fields = {to_camel(name): getattr(gate, name) for name in (*PLAIN, *OTHERS)}
    return {**fields, "datasetId": str(gate.dataset_id)}


def _set(editor: Editor, gate: Gate, fields: Mapping[str, Any], by: Caller) -> None:
    for name in PLAIN:
        if name in fields:
            setattr(gate, name, fields[name])
    validate(gate, ["tool_policy", "too_few", "bypass"])
    if "dataset_id" in fields:
        gate.dataset = _find_dataset(fields["dataset_id"], gate.workspace_id, by)
    _set_conditions(gate, fields)
    if "rules" in fields:
        gate.rules_json = canonical.dump(list(fields["rules"]))
        gate.__dict__.pop("rules", None)
    if "scorer_ids" in fields:
        _set_scorers(editor, gate, fields["scorer_ids"], by)
    if fields.get("primary_scorer"):
        gate.primary_scorer = fields["primary_scorer"]
    elif gate.primary_scorer not in gate.scorer_ids:
        gate.primary_scorer = gate.scorer_ids[0]
    if gate.primary_scorer not in gate.scorer_ids:
        raise Invalid.field("primaryScorer", Message("is not one of the scorers of the gate"))
    issues = [
        Issue(f"rules.{place}.scorerId", Message("is not one of the scorers of the gate"))
        for place, rule in enumerate(gate.rules)
        if rule.get("scorerId", gate.primary_scorer) not in gate.scorer_ids
    ]
    if issues:
        raise Invalid(issues)


def _find_dataset(dataset_id: str, workspace_id: str, by: Caller) -> Dataset:
    try:
        dataset = find_dataset(dataset_id, by=by)
    except NotFound:
        raise Invalid.field("datasetId", Message("does not exist, or you may not read it")) from None
    if dataset.workspace_id != workspace_id:
        raise Invalid.field("datasetId", Message("belongs to another workspace"))
    return dataset


def _set_conditions(gate: Gate, fields: Mapping[str, Any]) -> None:
    """Set the request context and the version of the dataset required for evidence."""
    if "request_context" in fields:
        gate.request_context_json = canonical.dump(fields["request_context"] or {})
        gate.__dict__.pop("request_context", None)
    if "dataset_policy" in fields:
        gate.dataset_version = None if fields["dataset_policy"] == LATEST else fields["dataset_policy"]
    if gate.dataset_version is not None and {"dataset_policy", "dataset_id"} & fields.keys():
        versions = DatasetVersion.objects.filter(dataset=gate.dataset, version=gate.dataset_version)
        if not versions.exists():
            raise Invalid.field("datasetPolicy", Message("is not a version of the dataset"))


def _set_scorers(editor: Editor, gate: Gate, ids: Sequence[str], by: Caller) -> None:
    """Set the scorers, and pin them and the prompt blocks of judges in their current state."""
    issues = list(unknown_scorers(editor, ids, by))
    issues += [
        Issue(f"scorerIds.{place}", Message("is named more than once"))
        for place, scorer_id in enumerate(ids)
        if scorer_id in ids[:place]
    ]
    if issues:
        raise Invalid(issues)
    gate.scorer_keys = "".join(f"\n{scorer_id}\n" for scorer_id in ids)
    rows = Scorer.objects.select_related("active_version", "latest_version").in_bulk(ids)
    pins = {}
    for scorer_id, scorer in rows.items():
        config = (scorer.active_version or scorer.latest_version).config
        block_id = config.get("config", {}).get("promptBlock") if config["type"] == JUDGE else None
        block = None if block_id is None else PromptBlock.objects.filter(pk=block_id).first()
        pin = None if block is None else (block.pk, str(block.uuid))
        pins[scorer_id] = ScorerPin(str(scorer.uuid), config["type"] == EXTERNAL, pin)
    gate.scorer_pins_json = canonical.dump(pins)
    gate.__dict__.pop("scorer_pins", None)


def _go_with_agent(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Delete the gates of a deleted agent; those of an override stay, because its agent remains."""
    if resource.kind == AGENT.slug:
        for gate in Gate.objects.filter(agent_id=resource.id, identity=resource.identity):
            gate.record("deleted", by)
            gate.delete()


FOLLOWERS = (Follower(call=_go_with_agent, events=["deleted"]),)


class Gates(Verbs):
    """The verbs of gates; `by` is the caller, by default the application."""

    list = staticmethod(list_gates)
    find = staticmethod(find_gate)
    create = create_gate
    change = change_gate
    delete = staticmethod(delete_gate)
    check = check_change
    run = run_missing
