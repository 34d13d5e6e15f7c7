"""Ask the gates about a change before it is made, and start the experiments that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from editor_client.shared.gates import State

from capabilities.evaluation.experiments.starting import PUBLISHED_BASELINE
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.gates.affected import Affected, requests_of
from capabilities.evaluation.gates.judging import Judgement, judged, known_to
from versioning.domain.access import APPLICATION, Action, Caller, Right
from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.selectors import DRAFT, Selector
from versioning.editor import Editor
from versioning.editor.gate import GateRequest, PublishRequest
from versioning.editor.resources import Who, caller_of
from versioning.models import Agent
from versioning.serving.overlays import read_overlay
from versioning.verbs import Verbs

_WAITING = frozenset({None, State.RUNNING})
"""What needs no new experiment: the evidence is there, or on its way."""


class Change(NamedTuple):
    """A change that is not made yet: a version of a resource goes live, or a release is published."""

    kind: str | None = None
    resource_id: str | None = None
    version_id: str | None = None
    """By default the latest."""
    release_id: str | None = None
    member: str = "release"
    """What callers call the release."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the gates say of a change."""

    gates: Sequence[Judgement]
    """Those about agents that the caller may know of."""
    hidden_gates: int
    """How many others are not satisfied."""

    @property
    def ok(self) -> bool:
        """Whether all are satisfied."""
        return not self.hidden_gates and all(gate.ok for gate in self.gates)


def check(gates: Verbs, change: Change, *, by: Who = APPLICATION) -> Checked:
    """Return what the gates say of a change.

    A configuration that was live before is free, so that no gate says of it that it may not go live.
    Raises `NotFound`, `Forbidden` without the right to read drafts, and `Invalid` unless exactly one change
    is named.
    """
    caller = caller_of(by)
    found = list(_judgements(_requests(gates.editor, change, caller)))
    known = [one for one in found if known_to(caller, one)]
    hidden = {one.gate.pk for one in found if not known_to(caller, one) and not one.ok}
    return Checked(gates=known, hidden_gates=len(hidden))


def _requests(editor: Editor, change: Change, by: Caller) -> Sequence[GateRequest]:
    kind, resource_id, version_id, release_id, _ = change
    named = [kind is not None or resource_id is not None, release_id is not None]
    if named == [False, True]:
        return _requests_of_release(str(release_id), by)
    if kind is None or resource_id is None or all(named):
        raise Invalid.field(change.member, Message("give either a resource, by kind and id, or a release"))
    if kind not in KINDS_BY_SLUG:
        raise Invalid.field("kind", Message("is unknown"))
    collection = editor.collection(KINDS_BY_SLUG[kind])
    if version_id is None:
        version_id = collection.get(resource_id, DRAFT, by=by).version.version_id
    found = collection.version(resource_id, version_id, by=by)
    by.require(Right.READ_DRAFTS, found.resource.workspace_id)
    return [PublishRequest(resource=found.resource, version=found.version, caller=by)]


def _requests_of_release(release_id: str, by: Caller) -> Sequence[GateRequest]:
    selector = Selector.parse({"release": release_id})
    if selector.overlay is None:
        raise Invalid.field("release", Message("this installation has no releases"))
    return list(requests_of(read_overlay(selector.overlay, by).versions, by))


def _judgements(requests: Sequence[GateRequest]) -> Iterator[Judgement]:
    """Yield each judgement once, although several items of a release may affect one agent."""
    seen = set()
    for request in requests:
        for one in judged(request):
            key = one.gate.pk, one.affected.id, one.affected.after_digest
            if key not in seen:
                seen.add(key)
                yield one


def run(gates: Verbs, change: Change, *, by: Who = APPLICATION) -> list[str]:
    """Start the experiments that the gates lack, those of what is live included; return their ids.

    What has been evaluated, and failed, is not run again, and neither is what is running. Requires the right
    to save; raises as `check` and `Experiments.start` do.
    """
    caller = caller_of(by)
    caller.require_action(Action.RUN)
    experiments = gates.editor.capability(Experiments)
    started: list[str] = []
    asked = _requests(gates.editor, change, caller)
    for request in asked:
        caller.require(Right.SAVE, request.resource.workspace_id)
    for judgement in _judgements(asked):
        if not known_to(caller, judgement):
            continue
        started += _start(experiments, judgement, caller)
    return started


def _start(experiments: Experiments, judgement: Judgement, by: Caller) -> Iterator[str]:
    """Start what a gate lacks of an agent; yield the ids of the experiments."""
    missing = missing_run(judgement)
    if missing is None:
        return
    made = experiments.start(missing.dataset_id, missing.request, by=by).experiment
    yield made.pk
    if missing.runs_live and made.pair_of_id is not None:
        yield made.pair_of_id


class MissingRun(NamedTuple):
    """An experiment whose result a gate lacks."""

    dataset_id: str
    request: Mapping[str, Any]
    """The request for it, as `Experiments.start` and `estimate` take it."""
    runs_live: bool
    """Whether its baseline is a run of what was live last, which the gate lacks, too."""


def missing_run(judgement: Judgement) -> MissingRun | None:
    """Return the experiment that a gate lacks of an agent; None if nothing would help, or it runs already."""
    gate, affected = judgement.gate, judgement.affected
    if judgement.state is State.SCORER_GONE:
        return None
    wants_live = judgement.lacks_live not in _WAITING
    if affected.after is not None and judgement.lacks_here not in _WAITING:
        lock = affected.after
        baseline = _live_of(affected) if wants_live else judgement.live_id
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
    given = {name: value for name, value in request.items() if value is not None}
    return MissingRun(str(gate.dataset_id), given, runs_live=wants_live and baseline is not None)


def _live_of(affected: Affected) -> str | None:
    """Return the baseline that is what was live last: a version, if the agent was unpublished."""
    if affected.live is None:
        return None
    unpublished = Agent.objects.filter(pk=affected.id, active_version=None).exists()
    pin: Mapping[str, Any] = affected.live["agents"][affected.id]
    return str(pin["versionId"]) if unpublished else PUBLISHED_BASELINE
