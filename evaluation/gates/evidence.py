"""Find the experiment that is evidence for a version; by rows alone."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from django.utils import timezone
from editor_client.shared.gates import Evidence, newest_evidence

from evaluation.experiments.models import Experiment, ExperimentScorer, Outcome, Score, TargetType
from evaluation.experiments.scoring_cells import EXTERNAL
from evaluation.gates.models import Gate
from evaluation.scoring.models import Scorer
from evaluation.scoring.verbs import judge_instructions
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION

LOOKED_AT: Final = 100
"""How many of the newest experiments of one configuration are looked at."""


def counting_experiments() -> set[str]:
    """Return the ids of the experiments that count as evidence for a gate that is not off."""
    gates = Gate.objects.filter(enabled=True).select_related("dataset")
    return {experiment_id for gate in gates for experiment_id in Present(gate).counting()}


class Present:
    """What evidence for a gate has to have been made with: read once for all agents."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._oldest = timezone.now() - datetime.timedelta(days=gate.evidence_days)

    @cached_property
    def _scorers(self) -> Mapping[str, str]:
        """The published versions of the scorers that have one."""
        rows = Scorer.objects.filter(pk__in=self.gate.scorer_ids)
        published = rows.filter(active_version__isnull=False)
        return {pk: str(active) for pk, active in published.values_list("pk", "active_version_id")}

    def evidence(self, agent_id: str, digest: str) -> Evidence[Experiment]:
        """Return the newest evidence for the configuration of an agent, or what is instead of it."""
        return newest_evidence(
            self._experiments(agent_id, digest),
            is_present=self._is_present,
            is_whole=self._is_whole,
            is_running=lambda experiment: not experiment.outcome,
        )

    def counting(self) -> Iterator[str]:
        """Yield the ids of the experiments that are evidence, the newest for each configuration."""
        found = Experiment.objects.filter(
            dataset=self.gate.dataset,
            workspace=self.gate.workspace_id,
            target_type=TargetType.AGENT,
            outcome=Outcome.COMPLETE,
            created_at__gte=self._oldest,
        )
        if self.gate.agent_id:
            found = found.filter(target_id=self.gate.agent_id)
        known = set()
        for one in found.prefetch_related("scorers").order_by("-created_at", "pk"):
            configuration = (one.target_id, one.target_digest)
            if configuration not in known and self._is_present(one) and self._is_whole(one):
                known.add(configuration)
                yield one.pk

    def _experiments(self, agent_id: str, digest: str) -> Sequence[Experiment]:
        found = Experiment.objects.filter(
            dataset=self.gate.dataset,
            target_type=TargetType.AGENT,
            target_id=agent_id,
            target_digest=digest,
        )
        return list(found.prefetch_related("scorers").order_by("-created_at", "pk")[:LOOKED_AT])

    def _is_present(self, experiment: Experiment) -> bool:
        """Return whether it ran over the present items with the present scorers, not too long ago."""
        return (
            experiment.dataset_version == self.gate.dataset.version
            and experiment.created_at >= self._oldest
            and not any(self._outdated(experiment))
        )

    def _outdated(self, experiment: Experiment) -> Iterator[str]:
        """Yield the scorers of the gate that the experiment had in another version."""
        pinned = {one.scorer_id: one for one in experiment.scorers.all()}
        for scorer_id in self.gate.scorer_ids:
            scorer, published = pinned.get(scorer_id), self._scorers.get(scorer_id)
            if published is None or (scorer is not None and scorer.version_id != published):
                yield scorer_id
            elif scorer is not None and scorer.instructions is not None:
                rubric = judge_instructions(get_editor(), scorer.config, by=APPLICATION)
                if rubric != scorer.instructions:
                    yield scorer_id

    def _is_whole(self, experiment: Experiment) -> bool:
        """Return whether every cell has a result and a score, without an error, in enough attempts."""
        pinned = {one.scorer_id: one for one in experiment.scorers.all()}
        external = [one for one in self.gate.scorer_ids if one in pinned and _is_sent(pinned[one])]
        return (
            experiment.outcome == Outcome.COMPLETE
            and experiment.done_count == experiment.cells_count
            and not experiment.unscored_count
            and experiment.attempts >= self.gate.attempts
            and pinned.keys() >= set(self.gate.scorer_ids)
            and all(self._has_come(experiment, one) for one in external)
        )

    def _has_come(self, experiment: Experiment, scorer_id: str) -> bool:
        """Return whether an application has sent the scores of all cells."""
        sent = Score.objects.filter(cell__experiment=experiment, scorer_id=scorer_id).count()
        return bool(sent == experiment.cells_count)


def _is_sent(scorer: ExperimentScorer) -> bool:
    return bool(scorer.config["type"] == EXTERNAL)
