"""Feedback over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.rollouts.feedback.verbs import About, Feedbacks
from capabilities.rollouts.models import MAX_TEXT, Feedback
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.parameters import Paging
from versioning.api.runs import Described
from versioning.api.schemas import (
    NotEmpty,
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResponseSchema,
    Source,
    Time,
    UuidOrNull,
    limits,
)
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED
from versioning.domain.errors import Invalid

Value = StrictBool | StrictInt | StrictFloat | StrictStr


class FeedbackCreate(RequestSchema):
    """Feedback on an answer: by its run, or by the version that gave it."""

    run_id: NotEmpty = UNCHANGED
    resource: ReferencedResource = UNCHANGED
    version_id: Annotated[NotEmpty | None, Field(description="Null for the version defined in code.")] = (
        UNCHANGED
    )
    arm: NotEmpty = UNCHANGED
    name: Annotated[NotEmpty, limits(Feedback.name)]
    value: Annotated[Any, Described(Value)]
    comment: str = UNCHANGED
    external_id: Annotated[
        NotEmpty, Field(description=f"Up to {MAX_TEXT} characters, once in a workspace.")
    ] = UNCHANGED


class FeedbackAnswer(ResponseSchema):
    """Feedback on a version."""

    id: Annotated[str, Source(lambda feedback: str(feedback.pk))]
    version_id: Annotated[str | None, Source(lambda feedback: feedback.version_id or None)]
    arm: Annotated[str | None, Source(lambda feedback: feedback.arm or None)]
    run_id: Annotated[UuidOrNull, Source(lambda feedback: str(feedback.run_id) if feedback.run_id else None)]
    name: str
    value: Value
    comment: str
    external_id: str | None
    created_at: Time


class FeedbackPage(PageOf):
    """Feedback, newest first."""

    feedback: Annotated[list[FeedbackAnswer], Source("items")]


class SummaryAnswer(ResponseSchema):
    """The feedback on a version under one name."""

    version_id: str | None
    arm: str | None
    name: str
    count: int
    mean: float | None
    counts: dict[str, int]


class FeedbackSummary(ResponseSchema):
    """The summary of the feedback."""

    summary: Annotated[list[SummaryAnswer], Source(lambda summary: summary)]


PAGING: Final = Paging(100)
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
            *PAGING.parameters,
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
        filters = request.query_params
        rows = self.feedback.list(
            filters.get("kind", ""),
            filters.get("id", ""),
            version_id=filters.get("versionId"),
            name=filters.get("name"),
            by=self.caller,
        )
        page = PAGING.read(filters)
        return self.page_of(page, rows)

    def create(self, request: Request) -> Response:
        """Give feedback on an answer."""
        arguments = FeedbackCreate.read_arguments(request)
        if "run_id" in arguments and ("version_id" in arguments or "arm" in arguments):
            raise Invalid.field("runId", "already determines the version and the arm")
        if "run_id" not in arguments and "version_id" not in arguments:
            raise Invalid.field("versionId", "is required, unless runId is given")
        resource = arguments.pop("resource", None)
        about = None if resource is None else About(resource["kind"], resource["id"])
        result = self.feedback.give(**arguments, about=about, by=self.caller)
        return Response(self.dump(result.feedback), status=201 if result.is_new else 200)

    def summary(self, request: Request) -> Response:
        """Sum up the feedback on a resource, by version, arm and name."""
        query = request.query_params
        summary = self.feedback.summarize(query.get("kind", ""), query.get("id", ""), by=self.caller)
        return Response(self.dump(summary))
