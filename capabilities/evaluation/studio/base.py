"""The base class of the pages about a dataset."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.contrib.admin.utils import quote
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets, right_to_change
from capabilities.evaluation.experiments.models import Experiment, public_id
from capabilities.evaluation.studio.choices import Choices, scorer_choices
from studio.navigation import Link, Row
from studio.workspaces.base import WorkspacePage, address
from versioning.domain.access import Right
from versioning.domain.errors import NotFound


def address_of_experiment(experiment: Experiment) -> str:
    """Return the address of the page about an experiment whose dataset exists."""
    dataset_id, public = str(experiment.dataset_id), quote(experiment.public_id)
    return address("experiment", experiment.workspace_id, dataset_id, public)


def held_by(dataset: Dataset) -> list[str]:
    """Return the scorers that score the items of a dataset unless an experiment names others."""
    return list(dataset.settings.get("scorerIds") or ())


class DatasetPage(WorkspacePage):
    """A page about the dataset in the address."""

    right = Right.READ_DRAFTS
    page_of_dataset = "dataset"
    """The tab to which the page belongs."""

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset; raises `NotFound` if it belongs to another workspace."""
        found = Datasets.find(self.kwargs["dataset"], right=self.right, by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    @property
    def dataset_id(self) -> str:
        """Its id, once access is checked."""
        return str(self.dataset.pk)

    @property
    def held(self) -> list[str]:
        """The scorers that score its items unless an experiment names others."""
        return held_by(self.dataset)

    def scorer_choices(self) -> Choices:
        """Return the scorers that forms offer: id and name."""
        return scorer_choices(self.workspace.pk, self.caller, held=self.held)

    def own_address(self, page: str = "dataset", *rest: str) -> str:
        """Return the address of another page about this dataset."""
        return self.address(page, self.kwargs["dataset"], *rest)

    def experiment_address(self, experiment_id: str, *rest: str) -> str:
        """Return the address of the page about an experiment over this dataset."""
        return self.own_address("experiment", quote(public_id(experiment_id)), *rest)

    def _tabs_of_dataset(self) -> Row:
        """Return the tabs of the dataset that the caller may open."""
        may_change = self.may(right_to_change(self.dataset))
        offered = {
            "dataset": (_("Items"), True),
            "experiments": (_("Experiments"), True),
            "dataset_scorers": (_("Scorers"), may_change),
            "dataset_versions": (_("Versions"), True),
            "dataset_settings": (_("Settings"), may_change),
        }
        return Row.of(
            [
                Link(title=title, address=self.own_address(page), is_current=page == self.page_of_dataset)
                for page, (title, is_offered) in offered.items()
                if is_offered
            ]
        )

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page about the dataset."""
        right = right_to_change(self.dataset)
        own = {
            "dataset": self.dataset,
            "may_save": self.may(Right.SAVE),
            "is_followed": right is Right.PUBLISH,
            "may_change": self.may(right),
            "table_address": self.own_address(),
            "datasets_address": reverse("studio:datasets"),
            "tabs": self._tabs_of_dataset(),
            "settings": None,
            "experiments_address": self.own_address("experiments"),
            "start_address": self.own_address("start_experiment"),
            "import_address": self.own_address("dataset_import"),
            "export_address": self.own_address("dataset_export"),
            "delete_address": self.own_address("dataset_delete"),
        }
        return super().page(template, title=title, status=status, **{**own, **context})
