"""One experiment: how far it is, what was answered, and what its scorers say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.contrib.admin.utils import unquote
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from evaluation.experiments.models import Cell, Experiment, Score
from evaluation.experiments.presenting import shown
from evaluation.experiments.verbs import Experiments
from evaluation.studio.base import DatasetPage
from evaluation.studio.experiments import Line
from versioning.domain import written
from versioning.domain.access import Right
from versioning.domain.errors import NotFound

PER_PAGE: Final = 20


@dataclass(frozen=True)
class Result:
    """What was answered in an attempt at an item."""

    cell: Cell

    @property
    def input(self) -> str:
        """What was asked; empty once the dataset is gone."""
        value = self.cell.member("input")
        return "" if value is None else written.shown(value)

    @property
    def output(self) -> str:
        """The answer."""
        return written.shown(self.cell.output) if self.cell.output_json else ""

    @property
    def scores(self) -> list[Score]:
        """What the scorers say of it, by their ids."""
        return sorted(self.cell.scores.all(), key=lambda one: one.scorer_id)


class ExperimentPage(DatasetPage):
    """An experiment; its progress updates itself."""

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment; raises `NotFound` if it is about another dataset."""
        experiment_id = unquote(self.kwargs["experiment"])
        if "\x00" in experiment_id:
            raise NotFound
        return Experiments.find(experiment_id, dataset_id=self.dataset_id, by=self.caller)

    def get(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Show it."""
        self.listen({"workspace_id": self.workspace_id})
        row = self.experiment
        page: Any = Paginator(self._results(row), PER_PAGE).get_page(request.GET.get("page"))
        [about] = shown([row])
        line = Line(about, self.experiment_address(row.pk))
        return self.page(
            "evaluation/experiment.html",
            title=line.title,
            line=line,
            page=page,
            results=[Result(one) for one in page.object_list],
            may_cancel=self.may(Right.SAVE) and not row.outcome,
            may_resume=self.may(Right.SAVE) and row.is_started and bool(row.outcome) and _has_gaps(row),
        )

    def post(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Stop it, or go on with what failed or was skipped."""
        row, do = self.experiment, request.POST.get("do")
        if do == "cancel":
            Experiments.cancel(row.pk, dataset_id=self.dataset_id, by=self.caller)
            said = _("It is stopped.")
        elif do == "resume":
            Experiments.resume(row.pk, dataset_id=self.dataset_id, by=self.caller)
            said = _("It goes on.")
        else:
            raise NotFound
        return self.go(self.experiment_address(row.pk), said)

    @staticmethod
    def _results(experiment: Experiment) -> Any:
        rows = Cell.objects.over().filter(experiment=experiment).order_by("pk")
        return rows.select_related("revision").prefetch_related("scores")


def _has_gaps(experiment: Experiment) -> bool:
    """Return whether anything failed or was skipped."""
    return bool(experiment.error_count or experiment.skipped_count or experiment.unscored_count)
