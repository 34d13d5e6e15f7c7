"""The base class of the pages about a dataset."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.contrib.admin.utils import quote
from django.template.response import TemplateResponse

from evaluation.datasets.editing import right_to_change
from evaluation.datasets.models import Dataset
from evaluation.datasets.verbs import Datasets
from evaluation.experiments.models import public_id
from evaluation.studio.choices import Choices, scorer_choices
from studio.workspaces.base import WorkspacePage
from versioning.domain.access import Right
from versioning.domain.errors import NotFound


class DatasetPage(WorkspacePage):
    """A page about the dataset in the address."""

    tab = "datasets"
    right = Right.READ_DRAFTS

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
        return list(self.dataset.settings.get("scorerIds") or ())

    def scorer_choices(self) -> Choices:
        """Return the scorers that forms offer: id and name."""
        return scorer_choices(self.workspace.pk, self.caller, held=self.held)

    def own_address(self, page: str = "dataset", *rest: str) -> str:
        """Return the address of another page about this dataset."""
        return self.address(page, self.kwargs["dataset"], *rest)

    def experiment_address(self, experiment_id: str, *rest: str) -> str:
        """Return the address of the page about an experiment over this dataset."""
        return self.own_address("experiment", quote(public_id(experiment_id)), *rest)

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page about the dataset."""
        right = right_to_change(self.dataset)
        own = {
            "dataset": self.dataset,
            "may_save": self.may(Right.SAVE),
            "is_followed": right is Right.PUBLISH,
            "may_change": self.may(right),
            "table_address": self.own_address(),
            "datasets_address": self.address("datasets"),
            "experiments_address": self.own_address("experiments"),
            "scorers_address": self.own_address("dataset_scorers"),
            "settings_address": self.own_address("dataset_settings"),
            "versions_address": self.own_address("dataset_versions"),
            "import_address": self.own_address("dataset_import"),
            "export_address": self.own_address("dataset_export"),
            "delete_address": self.own_address("dataset_delete"),
        }
        return super().page(template, title=title, status=status, **{**own, **context})
