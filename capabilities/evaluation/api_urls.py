"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.evaluation.datasets.api import (
    DatasetFileViewSet,
    DatasetViewSet,
    ItemViewSet,
    ModelWorkViewSet,
)
from capabilities.evaluation.experiments.api import (
    ComparisonViewSet,
    ExperimentViewSet,
    LabelViewSet,
    ResultFileViewSet,
    ResultViewSet,
    ScoreViewSet,
)
from capabilities.evaluation.gates.api import GateViewSet
from capabilities.evaluation.scoring.api import RegisteredViewSet
from versioning.api.base import EditorViewSet

_DATASET: Final = "datasets/(?P<id>[^/]+)"
_ITEM: Final = f"{_DATASET}/items/(?P<item>[^/]+)"
_EXPERIMENT: Final = f"{_DATASET}/experiments/(?P<experiment>[^/]+)"
_ROUTES: Final[dict[type[EditorViewSet], dict[str, dict[str, Any]]]] = {
    LabelViewSet: {"labels": {"get": "list", "post": "create"}},
    ModelWorkViewSet: {
        "datasets/cluster-failures": {"post": "cluster_failures"},
        f"{_DATASET}/generate-items": {"post": "generate_items"},
    },
    DatasetFileViewSet: {f"{_DATASET}/import": {"post": "upload"}, f"{_DATASET}/export": {"get": "export"}},
    DatasetViewSet: {
        "datasets": {"get": "list", "post": "create"},
        f"{_DATASET}/versions": {"get": "versions"},
        _DATASET: {"get": "retrieve", "patch": "update", "delete": "destroy"},
    },
    ResultFileViewSet: {f"{_EXPERIMENT}/export": {"get": "export"}},
    ComparisonViewSet: {
        f"{_EXPERIMENT}/compare": {"get": "retrieve"},
        f"{_DATASET}/compare": {"post": "side_by_side"},
    },
    GateViewSet: {
        "gates": {"get": "list", "post": "create"},
        "gates/check": {"get": "check"},
        "gates/run": {"post": "run"},
        "gates/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update", "delete": "destroy"},
    },
    ItemViewSet: {
        f"{_DATASET}/items": {"get": "list", "post": "create"},
        f"{_DATASET}/items/batch": {"post": "create_batch", "delete": "destroy_batch"},
        f"{_ITEM}/versions/(?P<version>[^/]+)": {"get": "as_of"},
        f"{_ITEM}/history": {"get": "history"},
        f"{_ITEM}/purge": {"delete": "purge"},
        _ITEM: {"get": "retrieve", "patch": "update", "delete": "destroy"},
    },
    ExperimentViewSet: {
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
    },
    ResultViewSet: {
        f"{_EXPERIMENT}/items/(?P<item>[^/]+)/run": {"post": "run_item"},
        f"{_EXPERIMENT}/results": {"get": "list", "post": "create"},
        f"{_EXPERIMENT}/results/(?P<result>[^/]+)": {"patch": "update"},
    },
    RegisteredViewSet: {
        "scores/scorers": {"get": "list"},
        "scores/scorers/(?P<id>(?s:.+))": {"get": "retrieve"},
    },
    ScoreViewSet: {
        "scores": {"post": "create"},
        "scores/run/(?P<run>(?s:.+))": {"get": "of_run"},
        "scores/scorer/(?P<id>(?s:.+))": {"get": "of_scorer"},
        "scores/entity/(?P<type>[^/]+)/(?P<id>(?s:.+))": {"get": "of_entity"},
    },
}
"""By view, in the order in which they are tried."""

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", view.as_view(verbs))
    for view, routes in _ROUTES.items()
    for route, verbs in routes.items()
]
