"""Judge whether what would be live after a change has the evidence that the gates ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from editor_client.shared import gates
from editor_client.shared.gates import Evidence, State
from editor_client.shared.pairing import Run, Yardstick

from evaluation.experiments.comparing import read_run
from evaluation.experiments.models import Experiment
from evaluation.gates.affected import Affected, affected_by, asks
from evaluation.gates.evidence import Present
from evaluation.gates.models import Gate, Rule, TooFew
from versioning.conf import get_editor
from versioning.editor.publish_requests import PublishRequest
from versioning.models import Agent, Event, PromptBlock
from versioning.serving.grants import Named, named_in, target_of


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a gate says of an agent."""

    gate: Gate
    affected: Affected
    state: State | None = None
    """Why it is not satisfied; None if it is."""
    rule: Rule | None = None
    """The rule that does not hold, or for which there is no evidence; None before one was asked."""
    experiment_id: str | None = None
    lacks_here: State | None = None
    """Why there is no evidence for what would be live; None if there is."""
    lacks_live: State | None = None
    """Why there is no evidence for what is live; None if there is, or no rule speaks of that."""
    live_id: str | None = None
    """The experiment about what is live, which a rule speaks of."""
    is_allowed: bool = False
    """Whether the gate lets the version go live although too few items cannot decide."""

    @property
    def ok(self) -> bool:
        """Whether the gate is satisfied."""
        return self.state is None or self.is_allowed


def judged(request: PublishRequest, asking: Sequence[Gate]) -> Iterator[Judgement]:
    """Yield what each gate says of each agent that a request affects; a configuration that was live is free.

    `asking` are the gates of the workspace that are not off.
    """
    if not asking or was_live(request):
        return
    present = {gate.pk: Present(gate) for gate in asking}
    for affected in affected_by(request, asks(list(asking))):
        for gate in asking:
            if gate.is_about(affected.id, affected.identity):
                yield _Asked(present[gate.pk], affected).judgement()


class _Asked:
    """A gate that is asked about an agent."""

    def __init__(self, present: Present, affected: Affected) -> None:
        self._present, self._gate, self._affected = present, present.gate, affected
        self._runs: dict[str, Run] = {}

    def judgement(self) -> Judgement:
        """Return what the gate says."""
        if self._present.has_gone:
            return Judgement(gate=self._gate, affected=self._affected, state=State.SCORER_GONE)
        is_live = self._affected.is_live
        live = (lambda: self._live) if is_live else None
        allows = self._gate.too_few == TooFew.ALLOW
        answer = gates.judged(self._gate.rules, self._here, live, self._run, allows_too_few=allows)
        about = Judgement(
            gate=self._gate,
            affected=self._affected,
            state=answer.state,
            rule=answer.rule,
            experiment_id=_id_of(answer.experiment),
            is_allowed=answer.is_allowed,
        )
        if answer.state in {None, State.FAILED, State.TOO_FEW}:
            return about
        wants_live = is_live and any(map(gates.speaks_of_live, self._gate.rules))
        return replace(
            about,
            lacks_here=self._here.lacks,
            lacks_live=self._live.lacks if wants_live else None,
            live_id=_id_of(self._live.experiment) if wants_live else None,
        )

    @cached_property
    def _here(self) -> Evidence[Experiment]:
        return self._evidence(self._affected.after_digest)

    @cached_property
    def _live(self) -> Evidence[Experiment]:
        return self._evidence(self._affected.live_digest)

    def _evidence(self, digest: str | None) -> Evidence[Experiment]:
        if digest is None:
            return Evidence()
        return self._present.evidence(self._affected.id, digest)

    def _run(self, experiment: Experiment) -> Run:
        if experiment.pk not in self._runs:
            self._runs[experiment.pk] = self._read(experiment)
        return self._runs[experiment.pk]

    def _read(self, experiment: Experiment) -> Run:
        """Return the run as the gate sees it: with its own scorers and primary scorer."""
        tags = {str(rule["tag"]) for rule in self._gate.rules if rule.get("tag") is not None}
        run = read_run(experiment, tags=tags)
        own: dict[str, Yardstick] = {
            scorer_id: replace(run.yardsticks[scorer_id], is_primary=scorer_id == self._gate.primary_scorer)
            for scorer_id in self._gate.scorer_ids
            if scorer_id in run.yardsticks  # one that was stopped may lack some
        }
        return replace(run, yardsticks=own)


def _id_of(experiment: Experiment | None) -> str | None:
    return None if experiment is None else experiment.pk


def was_live(request: PublishRequest) -> bool:
    """Return whether the configuration was the resource's live one before, with what it names now.

    Having been an arm or under a label is not that. What the log no longer knows was not live, and neither
    was a configuration whose versions were all deleted.
    """
    resource, version = request.resource, request.version
    if version.read_only:
        return True  # the content of a file or of a commit
    target = target_of(resource, get_editor().code)
    published = f"{target.kind}.published"
    rows = Event.objects.filter(
        resource_id=target.id, resource_kind=target.kind, resource_uuid=target.identity, hidden_from=""
    ).order_by("position")
    moments = dict(rows.filter(type=published).values_list("version_id", "created_at"))
    for previous, at in rows.filter(type__in=[published, f"{target.kind}.unpublished"]).values_list(
        "previous_version_id", "created_at"
    ):
        moments.setdefault(previous, at)
    equal = resource.versions.filter(digest=version.digest).values_list("pk", flat=True)
    then = [moments[str(pk)] for pk in equal if str(pk) in moments]
    if not then and not _is_active_now(request):
        return False
    newest = max(then, default=resource.published_since)
    return newest is not None and not _later_than(named_in(request.targets, get_editor().code), newest)


def _is_active_now(request: PublishRequest) -> bool:
    active = request.resource.active
    return active is not None and active.digest == request.version.digest


def _later_than(named: frozenset[Named], moment: object) -> bool:
    """Return whether any of the resources is a later one, which has the id of an earlier one."""
    ids = [one.identity for one in named]
    return bool(ids) and any(
        model._default_manager.filter(uuid__in=ids, created_at__gt=moment).exists()
        for model in (Agent, PromptBlock)
    )
