"""Feedback over HTTP."""

from __future__ import annotations

from typing import Final

from pydantic.alias_generators import to_camel
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.rollouts.feedback.schemas import (
    FeedbackAnswer,
    FeedbackCreate,
    FeedbackPage,
    FeedbackSummary,
)
from capabilities.rollouts.feedback.verbs import About, Feedbacks
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.paging import Page
from versioning.domain.access import Action
from versioning.domain.errors import Invalid

_ARGUMENTS: Final = {to_camel(one): one for one in ("run_id", "version_id", "arm", "comment", "external_id")}
ORDERS: Final = {"createdAt": "created_at"}
_ABOUT: Final = (
    parameters.KIND_OF_RESOURCE,
    parameters.ID_OF_RESOURCE,
)


class FeedbackViewSet(EditorViewSet):
    """Feedback on answers."""

    job = "Measure"
    subject = "feedback"
    actions = {"create": Action.RUN}
    created = frozenset({"create"})
    errors = {"create": (404,), "list": (404,), "summary": (404,)}
    query = {
        "list": (
            *parameters.paging(100, ORDERS),
            *_ABOUT,
            parameters.query("versionId", "Only of this version."),
            parameters.query("name", "Only under this name."),
        ),
        "summary": _ABOUT,
    }
    requests = {"create": FeedbackCreate}
    responses = {"list": FeedbackPage, "create": FeedbackAnswer, "summary": FeedbackSummary}

    @property
    def feedback(self) -> Feedbacks:
        """The verbs."""
        return Feedbacks.current()

    def list(self, request: Request) -> Response:
        """List the feedback on a resource, newest first."""
        given = request.query_params
        found = self.feedback.list(
            given.get("kind", ""),
            given.get("id", ""),
            version_id=given.get("versionId"),
            name=given.get("name"),
            by=self.caller,
        )
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Give feedback on an answer."""
        given = FeedbackCreate.read(request)
        about = About(given["resource"]["kind"], given["resource"]["id"]) if "resource" in given else None
        if "runId" in given and ("versionId" in given or "arm" in given):
            raise Invalid.field("runId", "already says which version and which arm it was")
        if "runId" not in given and "versionId" not in given:
            raise Invalid.field("versionId", "is required, unless runId is given")
        result = self.feedback.give(
            name=given["name"],
            value=given["value"],
            about=about,
            by=self.caller,
            **{name: given[member] for member, name in _ARGUMENTS.items() if member in given},
        )
        return Response(self.dump(result.feedback), status=201 if result.is_new else 200)

    def summary(self, request: Request) -> Response:
        """Sum up the feedback on a resource, by version, arm and name."""
        given = request.query_params
        found = self.feedback.summed(given.get("kind", ""), given.get("id", ""), by=self.caller)
        return Response(self.dump(found))
