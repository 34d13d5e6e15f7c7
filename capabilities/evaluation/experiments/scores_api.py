"""Scores, and labels of people, over HTTP."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.experiments import score_schemas, scores
from capabilities.evaluation.experiments.verbs import Experiments
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.parameters import Page
from versioning.models.search import ByteLength

ORDERS: Final = {"createdAt": "created_at"}


class ScoreViewSet(EditorViewSet):
    """Scores of experiments and of applications' own runs."""

    job = "Evaluate"
    subject = "score"
    created = frozenset({"create"})
    errors = {"create": (409,)}
    _PAGING: Final = parameters.paging(10, ORDERS)
    query = {
        "of_run": _PAGING,
        "of_scorer": (
            *_PAGING,
            parameters.query("entityId", "Only of this entity."),
            parameters.query("entityType", "Only of entities of this type."),
        ),
        "of_entity": _PAGING,
    }
    requests = {"create": score_schemas.ScoreCreate}
    responses = {
        "create": score_schemas.ScoreStored,
        "of_run": score_schemas.ScorePage,
        "of_scorer": score_schemas.ScorePage,
        "of_entity": score_schemas.ScorePage,
    }
    paths = {
        "run": (parameters.TEXT, "The id of the run or of the experiment."),
        "id": (parameters.TEXT, "The id of the scorer, or of the entity."),
        "type": (parameters.TEXT, "The type of the entity."),
    }

    def create(self, request: Request) -> Response:
        """Store a score."""
        given = score_schemas.ScoreCreate.read(request)
        made = Experiments.add_score(given["score"], workspace=given.get("workspaceId"), by=self.caller)
        return self.made(made, f"scores/run/{quote(given['score']['runId'], safe='')}")

    def of_run(self, request: Request, run: str) -> Response:
        """List the scores of a run or of an experiment, newest first."""
        return self._page(request, scores.of_run(run, by=self.caller))

    def of_scorer(self, request: Request, id: str) -> Response:
        """List the scores of a scorer, newest first."""
        given = {name: str(value) for name, value in request.query_params.items()}
        return self._page(request, scores.of_scorer(id, given, by=self.caller))

    def of_entity(self, request: Request, type: str, id: str) -> Response:
        """List the scores of an entity, newest first."""
        return self._page(request, scores.of_entity(type, id, by=self.caller))

    def _page(self, request: Request, found: Any) -> Response:
        page = Page.read(request.query_params, size=10, fields=ORDERS, then="pk")
        return self.page_of(page, found, weight=ByteLength("more_json"))


class LabelViewSet(EditorViewSet):
    """What people say of results."""

    job = "Evaluate"
    subject = "result label"
    created = frozenset({"create"})
    errors = {"create": (404, 409)}
    query = {
        "list": (
            *parameters.paging(100, ORDERS),
            parameters.query("experimentId", "Only of this experiment."),
            parameters.query("itemId", "Only of this item."),
            parameters.query("name", "Only under this name."),
        )
    }
    requests = {"create": score_schemas.ResultLabelCreate}
    responses = {
        "list": score_schemas.ResultLabelPage,
        "create": score_schemas.ResultLabelAnswer,
    }

    def list(self, request: Request) -> Response:
        """List the labels, newest first."""
        given = {name: str(value) for name, value in request.query_params.items()}
        page = Page.read(request.query_params, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, Experiments.labels(given, by=self.caller))

    def create(self, request: Request) -> Response:
        """Say something of a result, in place of what the caller said under this name."""
        made = Experiments.add_label(score_schemas.ResultLabelCreate.read(request), by=self.caller)
        return self.made(made, f"labels?itemId={made.item_id}")
