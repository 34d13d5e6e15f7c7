"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from evaluation.datasets.api import DatasetViewSet, ItemViewSet
from evaluation.datasets.files_api import DatasetFileViewSet, ModelWorkViewSet
from evaluation.experiments.api import ExperimentViewSet, ResultViewSet
from evaluation.experiments.comparison_api import ComparisonViewSet
from evaluation.experiments.files_api import ResultFileViewSet
from evaluation.experiments.labels_api import LabelViewSet
from evaluation.experiments.scores_api import ScoreViewSet
from evaluation.gates.api import GateViewSet
from evaluation.scoring.api import RegisteredViewSet

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
_EXPERIMENT: Final = f"{_DATASET}/experiments/(?P<experiment>[^/]+)"
_EXPERIMENTS: Final[dict[str, dict[str, Any]]] = {
    "experiments": {"get": "list"},
    "experiments/review-summary": {"get": "review_summary"},
    "experiments/(?P<experiment>[^/]+)": {"get": "read", "delete": "remove"},
    f"{_DATASET}/experiments": {"get": "list_of_dataset", "post": "create"},
    f"{_EXPERIMENT}/finalize": {"post": "finalize"},
    f"{_EXPERIMENT}/cancel": {"post": "cancel"},
    f"{_EXPERIMENT}/resume": {"post": "resume"},
    f"{_EXPERIMENT}/attempts": {"post": "add_attempts"},
    f"{_EXPERIMENT}/score": {"post": "score"},
    _EXPERIMENT: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}
_EXPORT: Final = rf"^{_EXPERIMENT}/export\Z"
_RESULTS: Final[dict[str, dict[str, Any]]] = {
    f"{_EXPERIMENT}/items/(?P<item>[^/]+)/run": {"post": "run_item"},
    f"{_EXPERIMENT}/results": {"get": "list", "post": "create"},
    f"{_EXPERIMENT}/results/(?P<result>[^/]+)": {"patch": "update"},
}
_SCORES: Final[dict[str, dict[str, Any]]] = {
    "scores": {"post": "create"},
    "scores/run/(?P<run>(?s:.+))": {"get": "of_run"},
    "scores/scorer/(?P<id>(?s:.+))": {"get": "of_scorer"},
    "scores/entity/(?P<type>[^/]+)/(?P<id>(?s:.+))": {"get": "of_entity"},
}
_REGISTERED: Final[dict[str, dict[str, Any]]] = {
    "scores/scorers": {"get": "list"},
    "scores/scorers/(?P<id>(?s:.+))": {"get": "retrieve"},
}
_COMPARISONS: Final[dict[str, dict[str, Any]]] = {
    f"{_EXPERIMENT}/compare": {"get": "retrieve"},
    f"{_DATASET}/compare": {"post": "side_by_side"},
}
_GATES: Final[dict[str, dict[str, Any]]] = {
    "gates": {"get": "list", "post": "create"},
    "gates/check": {"get": "check"},
    "gates/run": {"post": "run"},
    "gates/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(r"^labels\Z", LabelViewSet.as_view({"get": "list", "post": "create"})),
    *(re_path(rf"^{route}\Z", ModelWorkViewSet.as_view(verbs)) for route, verbs in _MODEL_WORK.items()),
    *(re_path(rf"^{route}\Z", DatasetFileViewSet.as_view(verbs)) for route, verbs in _FILES.items()),
    *(re_path(rf"^{route}\Z", DatasetViewSet.as_view(verbs)) for route, verbs in _DATASETS.items()),
    re_path(_EXPORT, ResultFileViewSet.as_view({"get": "export"})),
    *(re_path(rf"^{route}\Z", ComparisonViewSet.as_view(verbs)) for route, verbs in _COMPARISONS.items()),
    *(re_path(rf"^{route}\Z", GateViewSet.as_view(verbs)) for route, verbs in _GATES.items()),
    *(re_path(rf"^{route}\Z", ItemViewSet.as_view(verbs)) for route, verbs in _ITEMS.items()),
    *(re_path(rf"^{route}\Z", ExperimentViewSet.as_view(verbs)) for route, verbs in _EXPERIMENTS.items()),
    *(re_path(rf"^{route}\Z", ResultViewSet.as_view(verbs)) for route, verbs in _RESULTS.items()),
    *(re_path(rf"^{route}\Z", RegisteredViewSet.as_view(verbs)) for route, verbs in _REGISTERED.items()),
    *(re_path(rf"^{route}\Z", ScoreViewSet.as_view(verbs)) for route, verbs in _SCORES.items()),
]
