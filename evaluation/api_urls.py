"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from evaluation.datasets.api import DatasetViewSet, ItemViewSet
from evaluation.datasets.files_api import DatasetFileViewSet, ModelWorkViewSet

_DATASET: Final = "datasets/(?P<id>[^/]+)"
_ITEM: Final = f"{_DATASET}/items/(?P<item>[^/]+)"
_DATASETS: Final[dict[str, dict[str, Any]]] = {
    "datasets": {"get": "list", "post": "create"},
    f"{_DATASET}/versions": {"get": "versions"},
    _DATASET: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}
_ITEMS: Final[dict[str, dict[str, Any]]] = {
    f"{_DATASET}/items": {"get": "list", "post": "create"},
    f"{_DATASET}/items/batch": {"post": "create_batch", "delete": "destroy_batch"},
    f"{_ITEM}/versions/(?P<version>[^/]+)": {"get": "as_of"},
    f"{_ITEM}/history": {"get": "history"},
    f"{_ITEM}/purge": {"delete": "purge"},
    _ITEM: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}
_FILES: Final[dict[str, dict[str, Any]]] = {
    f"{_DATASET}/import": {"post": "upload"},
    f"{_DATASET}/export": {"get": "export"},
}
_MODEL_WORK: Final[dict[str, dict[str, Any]]] = {
    "datasets/cluster-failures": {"post": "cluster_failures"},
    f"{_DATASET}/generate-items": {"post": "generate_items"},
}

urlpatterns: list[URLPattern] = [
    *(re_path(rf"^{route}\Z", ModelWorkViewSet.as_view(verbs)) for route, verbs in _MODEL_WORK.items()),
    *(re_path(rf"^{route}\Z", DatasetFileViewSet.as_view(verbs)) for route, verbs in _FILES.items()),
    *(re_path(rf"^{route}\Z", DatasetViewSet.as_view(verbs)) for route, verbs in _DATASETS.items()),
    *(re_path(rf"^{route}\Z", ItemViewSet.as_view(verbs)) for route, verbs in _ITEMS.items()),
]
