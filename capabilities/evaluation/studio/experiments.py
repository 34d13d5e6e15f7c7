"""The experiments over a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.admin.utils import quote
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.evaluation.experiments.models import Experiment, Outcome
from capabilities.evaluation.experiments.results import ShownExperiment, Summary, shown, summary_of
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.naming import ExperimentNames
from capabilities.evaluation.studio.steps import STEPS, next_step
from studio.extensions import NamedInEvent
from studio.workspaces.base import address
from versioning.domain.access import Caller
from versioning.models import Event

PER_PAGE: Final = 25


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the experiments that the caller may read, by position and ordinal of the events.

    One without a name is called after its agent, its versions and its dataset.
    """
    ids = {
        (event.position, event.ordinal): str(event.detail["experimentId"])
        for event in events
        if event.detail.get("experimentId")
    }
    if not ids:
        return {}
    finished = {(event.position, event.ordinal) for event in events if event.type == "experiment.finished"}
    rows = Experiment.objects.readable_by(caller).filter(pk__in={*ids.values()})
    rows = rows.select_related("dataset", "pair_of")
    found = {row.public_id: row for row in rows}
    names = ExperimentNames.of(found.values(), caller)
    return {
        key: NamedInEvent(
            title=_title_of(one, names) + (_result_of(one) if key in finished else ""),
            address=address("experiment", one.workspace_id, str(one.dataset_id), quote(one.public_id)),
        )
        for key, public_id in ids.items()
        if (one := found.get(public_id)) is not None and one.dataset_id is not None
    }


def _title_of(experiment: Experiment, names: ExperimentNames) -> str:
    dataset = experiment.dataset.name if experiment.dataset else ""
    if experiment.name or not experiment.target_id:
        return experiment.name or dataset
    return _("%(target)s on “%(dataset)s”") % {"target": names.title(experiment), "dataset": dataset}


def _result_of(experiment: Experiment) -> str:
    """Return the pass rates after the title; empty unless there is one scorer, which decides."""
    here, baseline = _rate_of(experiment), experiment.pair_of
    there = _rate_of(baseline) if baseline else None
    if here is None:
        return ""
    if there is None:
        return _(" (%(here)d%% passed)") % {"here": here}
    return _(" (%(here)d%% passed, baseline %(there)d%%)") % {"here": here, "there": there}


def _rate_of(experiment: Experiment) -> int | None:
    found = summary_of(experiment) if experiment.summary_json else []
    rate = found[0]["passRate"] if len(found) == 1 else None
    return None if rate is None else round(100 * rate)


STATES: Final[dict[str, Promise]] = {
    "pending": pgettext_lazy("experiment", "waiting"),
    "running": pgettext_lazy("experiment", "running"),
    Outcome.COMPLETE: pgettext_lazy("experiment", "complete"),
    Outcome.CANCELLED: pgettext_lazy("experiment", "cancelled"),
    Outcome.TOO_MANY_ERRORS: gettext_lazy("stopped: too many errors"),
    Outcome.OVER_BUDGET: gettext_lazy("stopped: limit reached"),
    Outcome.EXPIRED: pgettext_lazy("experiment", "expired"),
}


def rate_in_words(summary: Summary) -> str:
    """Return the pass rate of a scorer with its interval; empty before it has scored anything."""
    if summary["passRate"] is None:
        return ""
    low, high = summary["interval"]
    numbers = {"rate": summary["passRate"], "low": low, "high": high}
    return _("%(rate)d%% (95%% CI %(low)d–%(high)d%%)") % {  # noqa: RUF001
        name: round(100 * share) for name, share in numbers.items()
    }


@dataclass(frozen=True)
class Line:
    """An experiment, as pages show it."""

    shown: ShownExperiment
    address: str
    names: ExperimentNames
    workspace_name: str = ""
    """The name of its workspace, in a list of several."""

    @property
    def row(self) -> Experiment:
        """The experiment itself."""
        return self.shown.row

    @property
    def title(self) -> str:
        """Its name; of one without a name what it is about."""
        return self.names.title(self.row)

    @property
    def target_name(self) -> str:
        """The name of the agent; empty for other targets, and where the caller may not read it."""
        return self.names.agents.get(self.row.target_id, "")

    @property
    def versions(self) -> str:
        """The version that was tried, and the one that it was compared with."""
        here = self.names.version(self.row)
        baseline = self.names.version(self.row.pair_of) if self.row.pair_of else ""
        return (
            _("%(version)s vs. %(baseline)s") % {"version": here, "baseline": baseline} if baseline else here
        )

    @property
    def is_baseline(self) -> bool:
        """Whether another experiment was compared with it."""
        return self.row.pk in self.names.baselines

    @property
    def state(self) -> Promise:
        """How far it is, or how it ended."""
        return STATES[self.row.outcome or self.row.status]

    @property
    def over(self) -> int:
        """How many answers need not be waited for."""
        return self.row.cells_count - self.row.queued_count

    @property
    def pass_rate(self) -> str:
        """What passes by the primary scorer, with how sure that is; empty before anything is scored."""
        found = next((one for one in self.shown.summary if one["scorerId"] == self.primary), None)
        return "" if found is None else rate_in_words(found)

    @property
    def primary(self) -> str | None:
        """The id of the scorer that decides."""
        return next((scorer.scorer_id for scorer in self.shown.scorers if scorer.is_primary), None)


class ExperimentsPage(DatasetPage):
    """The experiments over a dataset, newest first; the page updates itself."""

    page_of_dataset = "experiments"

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        self.listen({"workspace_id": self.workspace_id})
        found = Experiments.list(dataset_id=self.dataset_id, by=self.caller).order_by("-created_at", "pk")
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        names = ExperimentNames.of(page.object_list, self.caller)
        return self.page(
            "evaluation/experiments.html",
            title=_("Experiments on %(name)s") % {"name": self.dataset.name},
            page=page,
            lines=[Line(one, self.experiment_address(one.row.pk), names) for one in shown(page.object_list)],
            step=next_step(self),
            steps=STEPS,
        )
