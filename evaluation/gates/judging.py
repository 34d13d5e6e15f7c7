"""Judge whether what would be live after a change has the evidence that the gates ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evaluation.comparison.pairing import Run, Yardstick
from evaluation.experiments.comparing import read_run
from evaluation.experiments.models import Experiment
from evaluation.gates import rules
from evaluation.gates.affected import Affected, affected_by, asks
from evaluation.gates.evidence import Evidence, Present, State
from evaluation.gates.history import was_live
from evaluation.gates.models import Gate, Rule
from evaluation.gates.rules import Answer
from versioning.editor.gate import PublishRequest


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

    @property
    def ok(self) -> bool:
        """Whether the gate is satisfied."""
        return self.state is None


def judged(request: PublishRequest, gates: Sequence[Gate]) -> Iterator[Judgement]:
    """Yield what each gate says of each agent that a request affects; a configuration that was live is free.

    `gates` are those of the workspace that are not off.
    """
    if not gates or was_live(request):
        return
    present = {gate.pk: Present(gate) for gate in gates}
    for affected in affected_by(request, asks(list(gates))):
        for gate in gates:
            if gate.is_about(affected.id, affected.identity):
                yield _Asked(present[gate.pk], affected).judgement()


class _Asked:
    """A gate that is asked about an agent."""

    def __init__(self, present: Present, affected: Affected) -> None:
        self._present, self._gate, self._affected = present, present.gate, affected

    def judgement(self) -> Judgement:
        """Return what the gate says: of the evidence first, then of each rule in order."""
        if self._here.experiment is None or self._here.lacks is not None:
            return self._lacking(self._here, None)
        for rule in self._gate.rules:
            if rules.speaks_of_live(rule):
                if not self._affected.is_live:
                    continue  # nothing is live, so nothing is worse than that
                if self._live.lacks is not None:
                    return self._lacking(self._live, rule)
                answer = rules.holds_beside(rule, self._run(self._here), self._run(self._live))
            else:
                answer = rules.holds(rule, self._run(self._here))
            if answer is not Answer.HOLDS:
                return Judgement(
                    gate=self._gate,
                    affected=self._affected,
                    state=State.FAILED,
                    rule=rule,
                    experiment_id=self._here.experiment.pk,
                )
        return Judgement(gate=self._gate, affected=self._affected, experiment_id=self._here.experiment.pk)

    def _lacking(self, evidence: Evidence, rule: Rule | None) -> Judgement:
        wants_live = any(map(rules.speaks_of_live, self._gate.rules)) and self._affected.is_live
        live = self._live if wants_live else None
        return Judgement(
            gate=self._gate,
            affected=self._affected,
            state=evidence.lacks,
            rule=rule,
            experiment_id=_id_of(evidence),
            lacks_here=self._here.lacks,
            lacks_live=None if live is None else live.lacks,
            live_id=None if live is None else _id_of(live),
        )

    @cached_property
    def _here(self) -> Evidence:
        return self._evidence(self._affected.after_digest)

    @cached_property
    def _live(self) -> Evidence:
        return self._evidence(self._affected.live_digest)

    def _evidence(self, digest: str | None) -> Evidence:
        if digest is None:
            return Evidence(experiment=None, lacks=State.MISSING)
        return self._present.evidence(self._affected.id, digest)

    @cached_property
    def _runs(self) -> dict[str, Run]:
        return {}

    def _run(self, evidence: Evidence) -> Run:
        experiment = evidence.experiment
        assert experiment is not None  # noqa: S101  only evidence is read
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
        }
        return replace(run, yardsticks=own)


def _id_of(evidence: Evidence) -> str | None:
    return None if evidence.experiment is None else evidence.experiment.pk
