"""The URLs of the datasets of all workspaces."""

from __future__ import annotations

from django.urls import path

from evaluation.studio.adding import AddItemPage
from evaluation.studio.listing import DatasetsPage

urlpatterns = [
    path("datasets/", DatasetsPage.as_view(), name="datasets"),
    path("datasets/add-item/", AddItemPage.as_view(), name="add_item"),
]
