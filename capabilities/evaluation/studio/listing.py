"""The datasets of a workspace, or of all; the experiments of all workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.models import TargetType
from capabilities.evaluation.experiments.results import shown
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.studio.base import address_of_experiment
from capabilities.evaluation.studio.experiments import PER_PAGE as EXPERIMENTS_PER_PAGE
from capabilities.evaluation.studio.experiments import Line as ExperimentLine
from capabilities.evaluation.studio.naming import ExperimentNames
from studio.resources.create import workspace_choices
from studio.workspaces.base import address
from studio.workspaces.listing import ListingPage
from versioning.domain.access import Right
from versioning.models.querysets import within

PER_PAGE: Final = 50
MAX_DATASETS: Final = 100
"""How many datasets are offered for an experiment, those changed last first."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A dataset in a list."""

    dataset: Dataset
    workspace_name: str = ""
    """The name of its workspace, in a list of several."""

    @property
    def address(self) -> str:
        """The address of its page."""
        return address("dataset", self.dataset.workspace_id, str(self.dataset.pk))

    @property
    def description(self) -> str:
        """What it is for."""
        return str(self.dataset.settings.get("description", ""))


class DatasetsPage(ListingPage):
    """The datasets, newest first; the page updates itself."""

    tab = "datasets"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of the datasets."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        found = Datasets.list(workspace=workspace_id, by=self.caller)
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        lines = [
            Line(dataset=one, workspace_name=self.shown_names.get(one.workspace_id, ""))
            for one in page.object_list
        ]
        offered = workspace_choices(Right.SAVE, self.caller)
        if workspace_id is not None:
            offered = [one for one in offered if one[0] == workspace_id]
        return self.page(
            "evaluation/datasets.html",
            title=_("Datasets"),
            page=page,
            query=self.query(),
            lines=lines,
            add_addresses=[(address("new_dataset", pk), name) for pk, name in offered],
        )


class ExperimentsOfAllPage(ListingPage):
    """The experiments that the person may see, newest first; the page updates itself."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the experiments, of one agent if the query names it."""
        workspace_id, agent_id = self.listed_id, request.GET.get("agent", "").replace("\x00", "")
        self.listen(self.scope)
        found = Experiments.list(by=self.caller).filter(dataset__isnull=False)
        if workspace_id is not None:
            found = found.filter(workspace=workspace_id)
        if agent_id:
            found = found.filter(target_type=TargetType.AGENT, target_id=agent_id)
        rows = found.select_related("dataset").order_by("-created_at", "pk")
        page: Any = Paginator(rows, EXPERIMENTS_PER_PAGE).get_page(request.GET.get("page"))
        names = ExperimentNames.of(page.object_list, self.caller, agent_id=agent_id)
        return self.page(
            "evaluation/all_experiments.html",
            title=_("Experiments"),
            page=page,
            query=self.query(agent=agent_id),
            kept={"agent": agent_id} if agent_id else {},
            agent_name=names.agents.get(agent_id, agent_id),
            lines=[
                ExperimentLine(
                    one,
                    address_of_experiment(one.row),
                    names,
                    self.shown_names.get(one.row.workspace_id, ""),
                )
                for one in shown(page.object_list)
            ],
            datasets_address=reverse("studio:datasets"),
            may_save=self.caller.scope(Right.SAVE) != frozenset(),
            start_address=f"{reverse('studio:start_experiment')}?{self.query(agent=agent_id)}",
        )


class ChooseDatasetPage(ListingPage):
    """Chooses the dataset of a new experiment, of those that the person may start one on."""

    right = Right.SAVE

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the datasets with items, those changed last first; with only one, go to the form."""
        workspace_id, agent_id = self.listed_id, request.GET.get("agent", "").replace("\x00", "")
        found = Datasets.list(workspace=workspace_id, by=self.caller).filter(items_count__gt=0)
        found = found.filter(within("workspace", self.caller.scope(Right.SAVE)))
        more = f"?{urlencode({'agent': agent_id})}" if agent_id else ""
        datasets = [
            (one, address("start_experiment", one.workspace_id, str(one.pk)) + more)
            for one in found.order_by("-updated_at", "pk")[:MAX_DATASETS]
        ]
        if len(datasets) == 1:
            return redirect(datasets[0][1])
        return self.page(
            "evaluation/evaluate.html",
            title=_("New experiment"),
            datasets=datasets,
            last_id=None,
            datasets_address=reverse("studio:datasets"),
        )
