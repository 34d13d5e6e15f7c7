"""One experiment: how far it is, what was answered, and what its scorers say."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.admin.utils import quote, unquote
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.pairing import Comparison
from editor_client.shared.statistics import Verdict

from capabilities.evaluation.experiments.comparing import compared
from capabilities.evaluation.experiments.models import Cell, Experiment, Outcome
from capabilities.evaluation.experiments.results import shown, summary_of
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.comparison import Result, differences_first, pairs, sentences
from capabilities.evaluation.studio.experiments import Line, rate_in_words
from capabilities.evaluation.studio.few_items import of_pairs
from capabilities.evaluation.studio.naming import ExperimentNames
from capabilities.evaluation.studio.preferences import preferences_of
from capabilities.evaluation.studio.steps import STEPS, next_step
from studio.kinds import AGENT
from studio.money import in_dollars
from studio.named import resource_name
from versioning.domain.access import Right
from versioning.domain.errors import NotFound
from versioning.editor.catalog import LongList
from versioning.models import Agent

PER_PAGE: Final = 20
RESULTS: Final = "results"


class OneExperimentPage(DatasetPage):
    """A page about the experiment in the address."""

    page_of_dataset = "experiments"

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment; raises `NotFound` if it is about another dataset."""
        experiment_id = unquote(self.kwargs["experiment"])
        return Experiments.find(experiment_id, dataset_id=self.dataset_id, by=self.caller)

    def baseline_of(self, experiment: Experiment) -> Experiment | None:
        """Return its baseline; None without one that the caller may read."""
        found = Experiments.list(dataset_id=self.dataset_id, by=self.caller)
        return found.filter(pk=experiment.pair_of_id).first() if experiment.pair_of_id else None


class ExperimentPage(OneExperimentPage):
    """An experiment; its progress updates itself."""

    def get(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Show it."""
        self.listen({"workspace_id": self.workspace_id})
        row = self.experiment
        [about] = shown([row])
        baseline = self.baseline_of(row)
        both = [row, *([baseline] if baseline else [])]
        names = ExperimentNames.of(both, self.caller)
        line = Line(about, self.experiment_address(row.pk), names)
        is_compared = bool(row.outcome and baseline is not None and baseline.outcome)
        if baseline is not None and is_compared and request.GET.get("show") != RESULTS:
            more = self._comparison(row, baseline)
        else:
            page: Any = Paginator(self._results(row), PER_PAGE).get_page(request.GET.get("page"))
            more = {"page": page, "results": [Result(one) for one in page.object_list]}
        return self.page(
            "evaluation/experiment.html",
            title=line.title,
            line=line,
            cost=in_dollars(row.dollars),
            context=canonical.file_text(row.request_context) if row.request_context else "",
            is_compared=is_compared,
            deciding=resource_name(SCORER.slug, line.primary) if line.primary else "",
            version=names.version(row),
            version_address=_version_address(row) if names.version(row) else "",
            baseline_version=names.version(baseline) if baseline else "",
            rates=_rates(line, baseline),
            query=urlencode({"show": RESULTS}) if request.GET.get("show") == RESULTS else "",
            baseline_address=self.experiment_address(baseline.pk) if baseline else "",
            step=next_step(self) if row.outcome else None,
            steps=STEPS,
            agent_address=AGENT.address("change", row.target_id) if row.lock and line.target_name else "",
            publish_address=self._publish_address(row),
            may_cancel=self.may(Right.SAVE) and not row.outcome,
            may_resume=self.may(Right.SAVE) and row.is_started and bool(row.outcome) and _has_gaps(row),
            **more,
        )

    def _publish_address(self, row: Experiment) -> str:
        """Return where the version that was tried is published; empty if it is live, or nobody may."""
        is_possible = row.outcome == Outcome.COMPLETE and row.lock and row.version_id
        if not is_possible or not self.may(Right.PUBLISH):
            return ""
        live = Agent.objects.filter(pk=row.target_id).values_list("active_version_id", flat=True).first()
        if str(live) == row.version_id:
            return ""
        return f"{AGENT.address('publish', row.target_id)}?version={quote(row.version_id)}"

    def _comparison(self, row: Experiment, baseline: Experiment) -> dict[str, Any]:
        comparison = compared(row, baseline)
        page: Any = Paginator(differences_first(comparison.items), PER_PAGE).get_page(
            self.request.GET.get("page")
        )
        return {
            "sentences": sentences(comparison),
            "few": of_pairs(comparison.pairs) if _is_open(comparison) else None,
            "preferences": preferences_of(row, baseline),
            "blind_address": self.own_address("judge_blind", quote(row.public_id))
            if self.may(Right.SAVE)
            else "",
            "page": page,
            "pairs": list(pairs(row, baseline, page.object_list)),
        }

    def post(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Stop it, or go on with what failed or was skipped."""
        row, do = self.experiment, request.POST.get("do")
        if do == "cancel":
            Experiments.cancel(row.pk, dataset_id=self.dataset_id, by=self.caller)
            said = _("Experiment stopped.")
        elif do == "resume":
            Experiments.resume(row.pk, dataset_id=self.dataset_id, by=self.caller)
            said = _("Experiment resumed.")
        else:
            raise NotFound
        return self.go(self.experiment_address(row.pk), said)

    @staticmethod
    def _results(experiment: Experiment) -> LongList:
        rows = Cell.objects.over().filter(experiment=experiment).order_by("pk")
        rows = rows.with_revisions().prefetch_related("scores")
        return LongList(rows, experiment.done_count + experiment.error_count)


def _rates(line: Line, baseline: Experiment | None) -> list[dict[str, Any]]:
    """Return the pass rates by scorer, the deciding one first, with those of the baseline."""
    there = {one["scorerId"]: one for one in summary_of(baseline)} if baseline else {}
    found = [
        {
            "name": resource_name(SCORER.slug, one["scorerId"]),
            "here": rate_in_words(one),
            "baseline": rate_in_words(there[one["scorerId"]]) if one["scorerId"] in there else "",
            "decides": one["scorerId"] == line.primary,
        }
        for one in line.shown.summary
    ]
    rates = [one for one in found if one["here"] or one["baseline"]]
    return sorted(rates, key=lambda one: not one["decides"])


def _version_address(row: Experiment) -> str:
    """Return the address of the version that was tried."""
    return AGENT.address("version", row.target_id, row.version_id)


def _is_open(comparison: Comparison) -> bool:
    """Return whether a comparison found nothing, which more items might have shown."""
    primary = comparison.primary
    return primary is not None and primary.verdict in {Verdict.TOO_FEW, Verdict.NO_DIFFERENCE_FOUND}


def _has_gaps(experiment: Experiment) -> bool:
    """Return whether anything failed or was skipped."""
    return bool(experiment.error_count or experiment.skipped_count or experiment.unscored_count)
