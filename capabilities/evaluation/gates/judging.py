"""Judge whether what would be live after a change has the evidence that the gates ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from editor_client.shared import gates
from editor_client.shared.gates import Evidence, State

from capabilities.evaluation.experiments.models import Experiment
from capabilities.evaluation.gates.affected import Affected, Move, affected_by, concerned_by
from capabilities.evaluation.gates.evidence import Present
from capabilities.evaluation.gates.models import Gate, Rule, TooFew
from versioning.domain.access import Caller, Right
from versioning.editor.gate import GateRequest


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


def judged(request: GateRequest) -> Iterator[Judgement]:
    """Yield what each gate says of each agent that a request affects, in whatever workspace that is.

    Of a configuration that was live before, no gate says that it may not be live again. The gates are locked
    with their datasets if the change is made now.
    """
    move = Move.of(request)
    concerned = concerned_by(move)
    gates = Gate.objects.asking(concerned).select_related("dataset")
    if request.for_update:
        gates = gates.locked()
    memory: dict[Any, Any] = {}
    present = {gate.pk: Present(gate, memory) for gate in gates}
    for one in concerned:
        asking = [of.gate for of in present.values() if of.gate.asks_about(one)]
        if not asking:
            continue
        for affected in affected_by(move, one):
            for gate in asking:
                said = _Asked(present[gate.pk], affected).judgement()
                if said.ok or not _is_free(move, affected):
                    yield said


def _is_free(move: Move, affected: Affected) -> bool:
    """Return whether the agent was live before just as it would be; a file or a commit is what it is.

    What is live already is judged only if it would reach something that it does not reach now.
    """
    request = move.publishes
    if request is not None and affected.id == move.agent_id:
        if request.version.read_only:
            return True
        if request.is_live_already:
            return False
    return affected.was_live


def known_to(caller: Caller, judgement: Judgement) -> bool:
    """Return whether a caller may know of the agent: others are counted, and not named."""
    affected = judgement.affected
    return caller.covers(affected.id) and caller.may(Right.READ_DRAFTS, affected.workspace_id)


class _Asked:
    """A gate that is asked about an agent."""

    def __init__(self, present: Present, affected: Affected) -> None:
        self._present, self._gate, self._affected = present, present.gate, affected

    def judgement(self) -> Judgement:
        """Return what the gate says."""
        if self._present.has_gone:
            return Judgement(gate=self._gate, affected=self._affected, state=State.SCORER_GONE)
        is_live = self._affected.is_live
        live = (lambda: self._live) if is_live else None
        allows = self._gate.too_few == TooFew.ALLOW
        answer = gates.judged(self._gate.rules, self._here, live, self._present.run, allows_too_few=allows)
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


def _id_of(experiment: Experiment | None) -> str | None:
    return None if experiment is None else experiment.pk
