"""Scores over HTTP."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.experiments import score_schemas, scores
from evaluation.experiments.verbs import Experiments
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.paging import Page
from versioning.models.byte_length import ByteLength

SCORE_ORDERS: Final = {"createdAt": "created_at"}


class ScoreViewSet(EditorViewSet):
    """Scores of experiments and of applications' own runs."""

    subject = "score"
    created = frozenset({"create"})
    _PAGING: Final = parameters.paging(10, SCORE_ORDERS)
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
        location = f"/{settings.EDITOR_API_PREFIX}/scores/run/{quote(made.run_id, safe='')}"
        return Response(self.dump(made), status=201, headers={"Location": location})

    def of_run(self, request: Request, run: str) -> Response:
        """List the scores of a run or of an experiment, newest first."""
        return self._page(request, scores.of_run(run, by=self.caller))

    def of_scorer(self, request: Request, id: str) -> Response:  # noqa: A002
        """List the scores of a scorer, newest first."""
        given = {name: str(value) for name, value in request.query_params.items()}
        return self._page(request, scores.of_scorer(id, given, by=self.caller))

    def of_entity(self, request: Request, type: str, id: str) -> Response:  # noqa: A002
        """List the scores of an entity, newest first."""
        return self._page(request, scores.of_entity(type, id, by=self.caller))

    def _page(self, request: Request, found: Any) -> Response:
        page = Page.read(request.query_params, size=10, fields=SCORE_ORDERS, then="pk")
        return self.page_of(page, found.order_by(*page.order), weight=ByteLength("more_json"))
