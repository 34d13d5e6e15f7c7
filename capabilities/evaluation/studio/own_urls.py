"""The URLs of the datasets and experiments of all workspaces."""

from __future__ import annotations

from django.urls import path

from capabilities.evaluation.studio.datasets import AddItemPage, DatasetsPage
from capabilities.evaluation.studio.experiments import ChooseDatasetPage, ExperimentsOfAllPage

urlpatterns = [
    path("datasets/", DatasetsPage.as_view(), name="datasets"),
    path("experiments/", ExperimentsOfAllPage.as_view(), name="experiments"),
    path("experiments/add/", ChooseDatasetPage.as_view(), name="start_experiment"),
    path("datasets/add-item/", AddItemPage.as_view(), name="add_item"),
]
