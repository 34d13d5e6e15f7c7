"""The experiments that are evidence for a version, from rows only, and the judgement of each gate."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone
from editor_client.shared import gates
from editor_client.shared.gates import Evidence, GateState, gathered_evidence
from editor_client.shared.pairing import Run, Yardstick

from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.datasets.verbs import Use
from capabilities.evaluation.experiments.comparing import read_run
from capabilities.evaluation.experiments.models import (
    Cell,
    Experiment,
    ExperimentOutcome,
    ExperimentScorer,
    Score,
    TargetType,
)
from capabilities.evaluation.experiments.results import EXTERNAL
from capabilities.evaluation.experiments.running import context_digest
from capabilities.evaluation.gates.affected import Affected, Move, affected_by, concerned_by
from capabilities.evaluation.gates.models import Gate, Rule, TooFew, ToolPolicy
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.scoring.verbs import judge_instructions
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.editor.gate import GateRequest
from versioning.models import AgentVersion, PromptBlock


def counting_experiments() -> set[str]:
    """Return the ids of the experiments that count as evidence for an enabled gate."""
    gates = Gate.objects.filter(enabled=True).select_related("dataset")
    groups = (experiments for gate in gates for experiments in CurrentEvidence(gate).counting().values())
    return {experiment.pk for experiments in groups for experiment in experiments}


def scorers_that_decide(experiment: Experiment) -> set[str]:
    """Return the scorers of enabled gates for which an experiment counts, or would count.

    This includes experiments newer than the counting one.
    """
    gates = Gate.objects.filter(enabled=True, dataset=experiment.dataset_id).select_related("dataset")
    asking = [gate for gate in gates if gate.agent_id in {"", experiment.target_id}]
    return {
        scorer_id
        for gate in asking
        if CurrentEvidence(gate).decides(experiment)
        for scorer_id in gate.scorer_ids
    }


def uses_of_dataset(dataset_id: UUID) -> set[Use]:
    """Return the uses of a dataset by enabled gates."""
    rows = Gate.objects.filter(enabled=True, dataset=dataset_id).order_by()
    versions = rows.values_list("dataset_version", flat=True)
    return {Use.FOLLOWED if version is None else Use.PINNED for version in versions}


class CurrentEvidence:
    """The current requirements for evidence of a gate: read once for all agents.

    Gates that are checked together share a `memory` of their reads.
    """

    def __init__(self, gate: Gate, memory: dict[Any, Any] | None = None) -> None:
        self.gate, self._memory = gate, {} if memory is None else memory
        self._oldest = timezone.now() - datetime.timedelta(days=gate.evidence_days)
        self._context = context_digest(gate.request_context)

    @cached_property
    def _scorers(self) -> Mapping[str, Scorer]:
        """The original scorers of the gate, as far as they exist."""
        ids, pins = self.gate.scorer_ids, self.gate.scorer_pins
        rows = Scorer.objects.filter(pk__in=ids).select_related("active_version").order_by()
        scorers: Sequence[Scorer] = self._remember(("scorers", *ids), lambda: list(rows))
        return {row.pk: row for row in scorers if row.pk in pins and str(row.uuid) == pins[row.pk].identity}

    def _remember(self, key: tuple[Any, ...], read: Callable[[], Any]) -> Any:
        if key not in self._memory:
            self._memory[key] = read()
        return self._memory[key]

    @cached_property
    def has_gone(self) -> bool:
        """Whether a scorer of the gate, or the prompt block of its judge, was deleted."""
        if self._scorers.keys() != set(self.gate.scorer_ids):
            return True
        blocks = dict(pin.block for pin in self.gate.scorer_pins.values() if pin.block is not None)
        if not blocks:
            return False
        identities = dict(PromptBlock.objects.filter(pk__in=blocks).order_by().values_list("pk", "uuid"))
        missing_blocks = {key for key, identity in blocks.items() if str(identities.get(key)) != identity}
        return bool(missing_blocks) and any(
            scorer.active_version is not None
            and scorer.active_version.config.get("config", {}).get("promptBlock") in missing_blocks
            for scorer in self._scorers.values()
        )

    def evidence(self, agent_id: str, digest: str) -> Evidence[Experiment]:
        """Return the evidence for the configuration of an agent, or the reason why there is none."""
        return self._gather_evidence(self._experiments(target_id=agent_id, target_digest=digest))

    def counting(self) -> Mapping[tuple[str, str], Sequence[Experiment]]:
        """Return the experiments that are evidence, by the agent and the digest of its configuration."""
        of_agent = {"target_id": self.gate.agent_id} if self.gate.agent_id else {}
        groups: dict[tuple[str, str], list[Experiment]] = {}
        for experiment in self._experiments(created_at__gte=self._oldest, **of_agent):
            groups.setdefault((experiment.target_id, experiment.target_digest), []).append(experiment)
        return {key: self._gather_evidence(experiments).counting for key, experiments in groups.items()}

    def decides(self, experiment: Experiment) -> bool:
        """Return whether an experiment is evidence, is newer than it, or would count next to it.

        An incomplete one counts as soon as another one of the same configuration is evidence, and one with
        another version of a scorer as soon as that version is published again. So a failure by a scorer of
        the gate cannot be deleted in order to run it again.
        """
        experiments = self._experiments(
            target_id=experiment.target_id, target_digest=experiment.target_digest
        )
        if experiment not in experiments:
            return False
        counting = self._gather_evidence(experiments).counting
        if any(evidence.created_at <= experiment.created_at for evidence in counting):
            return True
        is_of_present = (
            experiment.dataset_version == self.gate.present_version and experiment.created_at >= self._oldest
        )
        scores = Score.objects.filter(cell__experiment=experiment, scorer_id__in=self.gate.scorer_ids)
        is_on_its_way = experiment.is_started and not experiment.outcome
        return bool(is_of_present and (is_on_its_way or scores.exists()))

    def _gather_evidence(self, experiments: Sequence[Experiment]) -> Evidence[Experiment]:
        """Return the evidence among experiments, together with other runs that meet the gate's conditions.

        An experiment with some items under other conditions is not evidence, but its failures count.
        """
        evidence = gathered_evidence(
            [experiment for experiment in experiments if not self._is_mixed(experiment)],
            is_present=self._is_present,
            is_whole=self._is_whole,
            is_running=lambda experiment: not experiment.outcome,
            attempts=lambda experiment: experiment.attempts,
            wanted=self.gate.attempts,
        )
        mixed = [row for row in experiments if self._is_mixed(row) and self._is_present(row)]
        if evidence.lacks is not None or not mixed:
            return evidence
        return replace(evidence, counting=[*evidence.counting, *mixed])

    @staticmethod
    def _is_mixed(experiment: Experiment) -> bool:
        """Return whether some of its items ran under other conditions than the gate requires."""
        return bool(getattr(experiment, "is_mixed", False))

    @property
    def _wanted_cells(self) -> Mapping[str, Any]:
        """The conditions for cells that ran as the gate requires.

        If every tool must be mocked, no tool was called under another policy.
        """
        policies = sorted({self.gate.tool_policy, str(ToolPolicy.DENY)})
        return {"context_digest": self._context, "tool_policy__in": policies}

    def _experiments(self, **filters: Any) -> Sequence[Experiment]:
        """Return the experiments under the gate's conditions, newest first.

        Results in another request context, or with another policy for tools, do not count; an experiment with
        only such results is omitted.
        """
        dataset_id, conditions = self.gate.dataset_id, (self._context, self.gate.tool_policy)

        def read() -> Sequence[Experiment]:
            over = Cell.objects.over().filter(experiment=OuterRef("pk")).order_by()
            otherwise, as_wanted = over.exclude(**self._wanted_cells), over.filter(**self._wanted_cells)
            rows = Experiment.objects.filter(dataset=dataset_id, target_type=TargetType.AGENT, **filters)
            rows = rows.annotate(is_mixed=Exists(otherwise)).exclude(Exists(otherwise) & ~Exists(as_wanted))
            rows = rows.prefetch_related("scorers").order_by("-created_at", "pk")
            return [
                row for row in rows if (context_digest(row.request_context), row.tool_policy) == conditions
            ]

        key = ("experiments", dataset_id, *conditions, *sorted(filters.items()))
        remembered: Sequence[Experiment] = self._remember(key, read)
        return remembered

    def run(self, experiment: Experiment) -> Run:
        """Return the run as read by the gate: with its own scorers and primary scorer."""
        tags = frozenset(str(rule["tag"]) for rule in self.gate.rules if rule.get("tag") is not None)
        is_mixed = self._is_mixed(experiment)
        cells = self._wanted_cells if is_mixed else {}
        key = ("run", experiment.pk, tags, *((self._context, self.gate.tool_policy) if is_mixed else ()))
        run: Run = self._remember(key, lambda: read_run(experiment, tags=tags, cells=cells))
        yardsticks: dict[str, Yardstick] = {
            scorer_id: replace(run.yardsticks[scorer_id], is_primary=scorer_id == self.gate.primary_scorer)
            for scorer_id in self.gate.scorer_ids
            if scorer_id in run.yardsticks  # a stopped one may lack some
        }
        return replace(run, yardsticks=yardsticks)

    def _is_present(self, experiment: Experiment) -> bool:
        """Return whether it ran over the current items with the current scorers, and is recent enough."""
        dataset, version = self.gate.dataset, self.gate.present_version
        purged = Revision.objects.of_version(dataset, version).purged()  # these can no longer be run
        return (
            experiment.dataset_version == version
            and experiment.created_at >= self._oldest
            and not self._remember(("purged", dataset.pk, version), purged.exists)
            and not self._is_outdated(experiment)
            and not self._is_tailored(experiment)
        )

    def _is_outdated(self, experiment: Experiment) -> bool:
        """Return whether the experiment had a scorer of the gate in another version.

        Scores sent by an application count only if the scorer was external when the gate was created.
        """
        pinned = {scorer.scorer_id: scorer for scorer in experiment.scorers.all()}
        for scorer_id in self.gate.scorer_ids:
            scorer, present = pinned.get(scorer_id), self._scorers.get(scorer_id)
            if present is None or present.active_version_id is None:
                return True
            if scorer is None:
                continue
            is_from_outside = _is_sent(scorer) and not self.gate.scorer_pins[scorer_id].is_external
            if scorer.version_id != str(present.active_version_id) or is_from_outside:
                return True
            if scorer.instructions is not None:
                rubric = judge_instructions(get_editor(), scorer.config, by=APPLICATION)
                if rubric != scorer.instructions:
                    return True
        return False

    def _is_tailored(self, experiment: Experiment) -> bool:
        """Return whether the author of the version changed a scorer of the gate after the run.

        An earlier version of the scorer also counts if it scored the outputs later.
        """
        rescored = experiment.rescored_by
        late = {
            scorer.active_version.author_id
            for scorer in self._scorers.values()
            if scorer.active_version is not None
            and (scorer.active_version.created_at > experiment.created_at or scorer.pk in rescored)
        } - {None}
        if not late:
            return False
        pin = (experiment.lock or {}).get("agents", {}).get(experiment.target_id, {})
        same_content = AgentVersion.objects.filter(
            resource=experiment.target_id, digest=pin.get("digest", "")
        )
        return bool(same_content.filter(author__in=late).exists())

    def _is_whole(self, experiment: Experiment) -> bool:
        """Return whether every cell has a result and a score, without an error."""
        pinned = {scorer.scorer_id: scorer for scorer in experiment.scorers.all()}
        external = [
            scorer_id
            for scorer_id in self.gate.scorer_ids
            if scorer_id in pinned and _is_sent(pinned[scorer_id])
        ]
        return (
            experiment.outcome == ExperimentOutcome.COMPLETE
            and experiment.done_count == experiment.cells_count
            and not experiment.unscored_count
            and pinned.keys() >= set(self.gate.scorer_ids)
            and all(
                Score.objects.filter(cell__experiment=experiment, scorer_id=scorer_id).count()
                == experiment.cells_count
                for scorer_id in external
            )
        )


def _is_sent(scorer: ExperimentScorer) -> bool:
    return bool(scorer.config["type"] == EXTERNAL)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The judgement of a gate about an agent."""

    gate: Gate
    affected: Affected
    state: GateState | None = None
    """Why it is not satisfied; None if it is."""
    rule: Rule | None = None
    """The failed rule, or the one without evidence; None if none was evaluated."""
    experiment_id: str | None = None
    lacks_here: GateState | None = None
    """Why there is no evidence for the new configuration; None if there is."""
    lacks_live: GateState | None = None
    """Why there is no evidence for the live configuration; None if there is, or no rule needs it."""
    live_id: str | None = None
    """The experiment about the live configuration, if a rule needs it."""
    is_allowed: bool = False
    """Whether the gate allows the version although there are too few items to decide."""

    @property
    def ok(self) -> bool:
        """Whether the gate is satisfied."""
        return self.state is None or self.is_allowed


def judge_request(request: GateRequest) -> Iterator[Judgement]:
    """Yield the judgement of each gate about each affected agent, in any workspace.

    No gate refuses a configuration that was live before. The gates are locked with their datasets if the
    change is made now.
    """
    move = Move.of(request)
    concerned = concerned_by(move)
    gates = Gate.objects.asking(concerned).select_related("dataset")
    if request.for_update:
        gates = gates.with_lock()
    memory: dict[Any, Any] = {}
    present = {gate.pk: CurrentEvidence(gate, memory) for gate in gates}
    for agent in concerned:
        asking = [gate for gate in gates if gate.asks_about(agent)]
        if not asking:
            continue
        for affected in affected_by(move, agent):
            for gate in asking:
                judgement = _judge(present[gate.pk], affected)
                if judgement.ok or not _is_free(move, affected):
                    yield judgement


def _is_free(move: Move, affected: Affected) -> bool:
    """Return whether the agent was live before in exactly this state; files and commits are always free.

    A live version is judged only if it would gain access to further resources.
    """
    request = move.publishes
    if request is not None and affected.id == move.agent_id:
        if request.version.read_only:
            return True
        if request.is_live_already:
            return False
    return affected.was_live


def known_to(caller: Caller, judgement: Judgement) -> bool:
    """Return whether a caller may know of the agent: other agents are counted but not named."""
    affected = judgement.affected
    return caller.covers(affected.id) and caller.may(Right.READ_DRAFTS, affected.workspace_id)


def _judge(present: CurrentEvidence, affected: Affected) -> Judgement:
    gate, rules = present.gate, present.gate.rules
    if present.has_gone:
        return Judgement(gate=gate, affected=affected, state=GateState.SCORER_GONE)

    @cache
    def evidence(digest: str | None) -> Evidence[Experiment]:
        return Evidence() if digest is None else present.evidence(affected.id, digest)

    here = evidence(affected.after_digest)
    live = (lambda: evidence(affected.live_digest)) if affected.is_live else None
    allows = gate.too_few == TooFew.ALLOW
    answer = gates.judge_gate(rules, here, live, present.run, allows_too_few=allows)
    judgement = Judgement(
        gate=gate,
        affected=affected,
        state=answer.state,
        rule=answer.rule,
        experiment_id=answer.experiment.pk if answer.experiment else None,
        is_allowed=answer.is_allowed,
    )
    if answer.state in {None, GateState.FAILED, GateState.TOO_FEW}:
        return judgement
    judgement = replace(judgement, lacks_here=here.lacks)
    if live is None or not any(map(gates.speaks_of_live, rules)):
        return judgement
    compared = live()
    live_id = compared.experiment.pk if compared.experiment else None
    return replace(judgement, lacks_live=compared.lacks, live_id=live_id)
