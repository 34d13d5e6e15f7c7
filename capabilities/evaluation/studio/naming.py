"""Experiments and the versions that they try, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext as _

from capabilities.evaluation.experiments.models import Experiment
from capabilities.evaluation.studio.choices import agent_names
from versioning.domain.access import Caller
from versioning.domain.uuids import is_uuid
from versioning.models import AgentVersion


@dataclass(frozen=True, kw_only=True)
class ExperimentNames:
    """What pages call some experiments."""

    agents: Mapping[str, str]
    """The names of agents that the caller may read, by their ids."""
    numbers: Mapping[str, int]
    """The numbers of versions of these agents, by their ids."""
    baselines: frozenset[str]
    """The experiments that are the baseline of another."""

    @classmethod
    def of(cls, rows: Iterable[Experiment], by: Caller, *, agent_id: str = "") -> Self:
        """Look up the names; the number of queries does not depend on the number of experiments."""
        found = list(rows)
        prefetch_related_objects(
            found,
            Prefetch("pair_of", queryset=Experiment.objects.only("pk", "target_id", "version_id")),
            Prefetch("candidates", queryset=Experiment.objects.only("pk", "pair_of_id").order_by()),
        )
        tried = [one for one in found if one.target_id]
        agents = agent_names({agent_id, *(one.target_id for one in tried)} - {""}, by)
        both = [two for one in tried if one.target_id in agents for two in (one, one.pair_of) if two]
        rows_of = AgentVersion.objects.filter(
            pk__in={two.version_id for two in both if is_uuid(two.version_id)}
        )
        numbers = rows_of.order_by().values_list("pk", "number") if both else ()
        return cls(
            agents=agents,
            numbers={str(pk): number for pk, number in numbers},
            baselines=frozenset(one.pk for one in found if one.candidates.all()),
        )

    def target(self, experiment: Experiment) -> str:
        """Return the name of the agent, or the id of what was tried; empty for an application."""
        return self.agents.get(experiment.target_id, experiment.target_id)

    def version(self, experiment: Experiment) -> str:
        """Return the version that was tried, as `version 7`; empty if there is none with a number."""
        number = self.numbers.get(experiment.version_id)
        return "" if number is None else _("version %(number)d") % {"number": number}

    def title(self, experiment: Experiment) -> str:
        """Return the name of an experiment; of one without a name, what it tries and compares."""
        if experiment.name or not experiment.target_id:
            return experiment.name or experiment.public_id
        target, version = self.target(experiment), self.version(experiment)
        baseline = self.version(experiment.pair_of) if experiment.pair_of else ""
        words = {"target": target, "version": version, "baseline": baseline}
        if version and baseline:
            return _("%(target)s, %(version)s vs. %(baseline)s") % words
        return _("%(target)s, %(version)s") % words if version else target
