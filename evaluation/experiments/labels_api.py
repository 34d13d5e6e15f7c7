"""Labels over HTTP."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.experiments import score_schemas
from evaluation.experiments.verbs import Experiments
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.paging import Page

ORDERS: Final = {"createdAt": "created_at"}


class LabelViewSet(EditorViewSet):
    """What people say of results."""

    subject = "result label"
    created = frozenset({"create"})
    errors = {"create": (404,)}
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
        return self.page_of(page, Experiments.labels(given, by=self.caller).order_by(*page.order))

    def create(self, request: Request) -> Response:
        """Say something of a result, in place of what the caller said under this name."""
        made = Experiments.add_label(score_schemas.ResultLabelCreate.read(request), by=self.caller)
        location = f"/{settings.EDITOR_API_PREFIX}/labels?itemId={made.item_id}"
        return Response(self.dump(made), status=201, headers={"Location": location})
