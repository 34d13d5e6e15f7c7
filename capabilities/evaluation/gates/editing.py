"""Create, read, change and delete gates.

Who may read the drafts of a workspace reads its gates. Writing takes the right to publish, and for a gate of
all agents of a workspace an admin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from editor_client.shared import canonical

from capabilities.evaluation.datasets import editing as datasets
from capabilities.evaluation.datasets.models import Dataset, DatasetVersion
from capabilities.evaluation.experiments.scoring_cells import EXTERNAL, JUDGE
from capabilities.evaluation.gates.models import LATEST, Gate, GateQuerySet, ScorerPin
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.scoring.naming import Dependent
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.events import Target, VersionName
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import PromptBlock, events
from versioning.models.followers import Follower
from versioning.serving.grants import target_of
from versioning.verbs import Verbs

PLAIN = ("attempts", "evidence_days", "tool_policy", "too_few", "bypass", "enabled")
"""The fields that hold what was sent."""


def list_readable(
    *, workspace: str | None = None, agent_id: str | None = None, by: Who = APPLICATION
) -> QuerySet[Gate]:
    """Return the gates that the caller may read; with an agent, those that are about it."""
    found = Gate.objects.readable_by(caller_of(by)).select_related("dataset")
    if workspace is not None:
        found = found.filter(workspace=workspace)
    if agent_id is not None:
        found = found.filter(agent_id__in=[agent_id, ""])
    return found


def naming(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield the gates that score with a scorer."""
    for one in Gate.objects.readable_by(by).select_related("dataset").naming_scorer(scorer_id):
        yield Dependent(str(one.pk), str(one), "gate")


def find(gate_id: str, *, by: Who = APPLICATION) -> Gate:
    """Return a gate; raises `NotFound` if the caller may not read it."""
    return _found(Gate.objects.all(), gate_id, caller_of(by))


def _found(rows: GateQuerySet, gate_id: str, by: Caller) -> Gate:
    found = rows.readable_by(by).select_related("dataset").filter(pk=parse_uuid(gate_id)).first()
    if found is None:
        raise NotFound
    return found


@retry_on_conflict
def create(
    gates: Verbs,
    given: Mapping[str, Any],
    *,
    agent_id: str | None = None,
    workspace: str | None = None,
    by: Who = APPLICATION,
) -> Gate:
    """Create a gate of an agent, or without one of all agents of a workspace.

    `given` are the fields of the model, with `dataset_id`, `scorer_ids` and `rules`. Raises `Invalid` naming
    what does not exist, and `Forbidden`.
    """
    caller = caller_of(by)
    identity: UUID | None = None
    if agent_id is None:
        workspace_id = workspace_for(caller, workspace)
    else:
        target = _agent(gates.editor, agent_id, workspace, caller)
        workspace_id, identity = target.workspace_id, target.identity
    gate = Gate(
        workspace_id=workspace_id,
        agent_id=agent_id or "",
        identity=identity,
        author_id=caller.user_id,
    )
    _require(gate, caller)
    with events.transaction():
        _set(gates.editor, gate, given, caller)
        gate.save(force_insert=True)
        gate.record("created", caller)
    return gate


def _agent(editor: Editor, agent_id: str, workspace: str | None, by: Caller) -> Target:
    target = target_of(editor.agent.find_or_defined(agent_id, by=by), editor.code)
    by.require_publish(target.workspace_id)
    if workspace not in {None, target.workspace_id}:
        raise Invalid.field("resource", Message("belongs to another workspace"))
    return target


@retry_on_conflict
def change(gates: Verbs, gate_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION) -> Gate:
    """Change the fields that are given; see `create`."""
    caller = caller_of(by)
    with events.transaction():
        gate = _found(Gate.objects.locked(), gate_id, caller)
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
def delete(gate_id: str, *, by: Who = APPLICATION) -> None:
    """Delete a gate."""
    caller = caller_of(by)
    with events.transaction():
        gate = _found(Gate.objects.locked(), gate_id, caller)
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
    return {
        "datasetId": str(gate.dataset_id),
        "scorerIds": gate.scorer_ids,
        "primaryScorer": gate.primary_scorer,
        "rules": gate.rules,
        "attempts": gate.attempts,
        "evidenceDays": gate.evidence_days,
        "requestContext": gate.request_context,
        "toolPolicy": gate.tool_policy,
        "datasetPolicy": gate.dataset_policy,
        "tooFew": gate.too_few,
        "bypass": gate.bypass,
        "enabled": gate.enabled,
    }


def _set(editor: Editor, gate: Gate, given: Mapping[str, Any], by: Caller) -> None:
    """Set the fields; raises `Invalid`."""
    for name in PLAIN:
        if name in given:
            setattr(gate, name, given[name])
    if "dataset_id" in given:
        gate.dataset = _dataset(given["dataset_id"], gate.workspace_id, by)
    _set_conditions(gate, given)
    if "rules" in given:
        gate.rules_json = canonical.dump(list(given["rules"]))
        gate.__dict__.pop("rules", None)
    if "scorer_ids" in given:
        _set_scorers(editor, gate, given["scorer_ids"], by)
    _set_primary(gate, given)
    issues = [
        Issue(f"rules.{place}.scorerId", Message("is none of the scorers of the gate"))
        for place, rule in enumerate(gate.rules)
        if rule.get("scorerId", gate.primary_scorer) not in gate.scorer_ids
    ]
    if issues:
        raise Invalid(issues)


def _set_conditions(gate: Gate, given: Mapping[str, Any]) -> None:
    """Set in which request context, and over which version of its dataset, evidence has to have run."""
    if "request_context" in given:
        gate.request_context_json = canonical.dump(given["request_context"] or {})
        gate.__dict__.pop("request_context", None)
    if "dataset_policy" in given:
        policy = given["dataset_policy"]
        gate.dataset_version = None if policy == LATEST else policy
    if gate.dataset_version is None or not {"dataset_policy", "dataset_id"} & given.keys():
        return
    if not DatasetVersion.objects.filter(dataset=gate.dataset, version=gate.dataset_version).exists():
        raise Invalid.field("datasetPolicy", Message("is no version of the dataset"))


def _set_primary(gate: Gate, given: Mapping[str, Any]) -> None:
    if "primary_scorer" in given:
        gate.primary_scorer = given["primary_scorer"]
    if not gate.primary_scorer or ("primary_scorer" not in given and "scorer_ids" in given):
        kept = gate.primary_scorer if gate.primary_scorer in gate.scorer_ids else gate.scorer_ids[0]
        gate.primary_scorer = kept
    if gate.primary_scorer not in gate.scorer_ids:
        raise Invalid.field("primaryScorer", Message("is none of the scorers of the gate"))


def _set_scorers(editor: Editor, gate: Gate, ids: Sequence[str], by: Caller) -> None:
    issues = list(datasets.unknown_scorers(editor, ids, by))
    issues += [
        Issue(f"scorerIds.{place}", Message("is named more than once"))
        for place, one in enumerate(ids)
        if one in ids[:place]
    ]
    if issues:
        raise Invalid(issues)
    gate.scorer_keys = "".join(f"\n{one}\n" for one in ids)
    rows = Scorer.objects.select_related("active_version", "latest_version").in_bulk(ids)
    pins = {one: _pin(rows[one]) for one in ids if one in rows}
    gate.scorer_pins_json = canonical.dump(pins)
    gate.__dict__.pop("scorer_pins", None)


def _pin(scorer: Scorer) -> ScorerPin:
    """Return the scorer, and the prompt block that it judges by, as they are now."""
    config = (scorer.active_version or scorer.latest_version).config
    named = config.get("config", {}).get("promptBlock") if config["type"] == JUDGE else None
    block = None if named is None else PromptBlock.objects.filter(pk=named).first()
    return ScorerPin(
        str(scorer.uuid), config["type"] == EXTERNAL, None if block is None else (block.pk, str(block.uuid))
    )


def _dataset(dataset_id: str, workspace_id: str, by: Caller) -> Dataset:
    try:
        found = datasets.find(dataset_id, by=by)
    except NotFound:
        raise Invalid.field("datasetId", Message("does not exist, or you may not read it")) from None
    if found.workspace_id != workspace_id:
        raise Invalid.field("datasetId", Message("belongs to another workspace"))
    return found


def _go_with_agent(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Delete the gates of an agent that is deleted; an override's stay, as its agent does."""
    if resource.kind == AGENT.slug:
        for gate in Gate.objects.filter(agent_id=resource.id, identity=resource.identity):
            gate.record("deleted", by)
            gate.delete()


FOLLOWERS = (Follower(call=_go_with_agent, events=["deleted"]),)
