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

from evaluation.experiments.models import Experiment, Outcome
from evaluation.experiments.summing import ShownExperiment, shown
from evaluation.experiments.verbs import Experiments
from evaluation.studio.base import DatasetPage
from evaluation.studio.choices import agent_names
from evaluation.studio.steps import STEPS, next_step
from studio.extensions import NamedInEvent
from studio.workspaces.base import address
from versioning.domain.access import Caller
from versioning.models import Event

PER_PAGE: Final = 25


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the experiments that the caller may read, by position and ordinal of the events; one query.

    One without a name is called after its agent and its dataset.
    """
    ids = {
        (event.position, event.ordinal): str(event.detail["experimentId"])
        for event in events
        if event.detail.get("experimentId")
    }
    if not ids:
        return {}
    rows = Experiment.objects.readable_by(caller).select_related("dataset").filter(pk__in={*ids.values()})
    found = {one.public_id: one for one in rows}
    return {
        key: NamedInEvent(
            title=one.name or _title_of(one),
            address=address("experiment", one.workspace_id, str(one.dataset_id), quote(one.public_id)),
        )
        for key, public_id in ids.items()
        if (one := found.get(public_id)) is not None and one.dataset_id is not None
    }


def _title_of(experiment: Experiment) -> str:
    about = {"target": experiment.target_id, "dataset": experiment.dataset.name if experiment.dataset else ""}
    return _("%(target)s on “%(dataset)s”") % about if experiment.target_id else about["dataset"]


STATES: Final[dict[str, Promise]] = {
    "pending": pgettext_lazy("experiment", "waiting"),
    "running": pgettext_lazy("experiment", "running"),
    Outcome.COMPLETE: pgettext_lazy("experiment", "complete"),
    Outcome.CANCELLED: pgettext_lazy("experiment", "cancelled"),
    Outcome.TOO_MANY_ERRORS: gettext_lazy("stopped: too many errors"),
    Outcome.OVER_BUDGET: gettext_lazy("stopped: its limit is reached"),
    Outcome.EXPIRED: pgettext_lazy("experiment", "expired"),
}


@dataclass(frozen=True)
class Line:
    """An experiment, as pages show it."""

    shown: ShownExperiment
    address: str
    target_name: str = ""
    """The name of the agent; empty for other targets, and where the caller may not read it."""
    workspace_name: str = ""
    """The name of its workspace, in a list of several."""

    @property
    def row(self) -> Experiment:
        """The experiment itself."""
        return self.shown.row

    @property
    def title(self) -> str:
        """Its name; of one without a name what it is about."""
        return self.row.name or self.target_name or self.row.target_id or self.row.public_id

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
        primary = next((one.scorer_id for one in self.shown.scorers if one.is_primary), None)
        found = next((one for one in self.shown.summary if one["scorerId"] == primary), None)
        if found is None or found["passRate"] is None:
            return ""
        low, high = found["interval"]
        numbers = {"rate": found["passRate"], "low": low, "high": high}
        return _("%(rate)d%% (95%% CI %(low)d–%(high)d%%)") % {  # noqa: RUF001
            name: round(100 * share) for name, share in numbers.items()
        }


class ExperimentsPage(DatasetPage):
    """The experiments over a dataset, newest first; the page updates itself."""

    page_of_dataset = "experiments"

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        self.listen({"workspace_id": self.workspace_id})
        found = Experiments.list(dataset_id=self.dataset_id, by=self.caller).order_by("-created_at", "pk")
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        names = agent_names((one.target_id for one in page.object_list), self.caller)
        return self.page(
            "evaluation/experiments.html",
            title=_("Experiments over %(name)s") % {"name": self.dataset.name},
            page=page,
            lines=[
                Line(one, self.experiment_address(one.row.pk), names.get(one.row.target_id, ""))
                for one in shown(page.object_list)
            ],
            step=next_step(self),
            steps=STEPS,
        )
