"""The JSON objects of feedback."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from capabilities.rollouts.models import MAX_NAME, MAX_TEXT
from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time, UuidOrNull
from versioning.api.schemas.common import NotEmpty, PageOf, ReferencedResource
from versioning.api.schemas.runs import Described
from versioning.domain.config import UNCHANGED

Value = StrictBool | StrictInt | StrictFloat | StrictStr


class FeedbackCreate(RequestSchema):
    """Feedback on an answer: by its run, or by the version that gave it."""

    run_id: NotEmpty = UNCHANGED
    resource: ReferencedResource = UNCHANGED
    version_id: Annotated[NotEmpty | None, Field(description="Null for what code defines.")] = UNCHANGED
    arm: NotEmpty = UNCHANGED
    name: Annotated[NotEmpty, Field(json_schema_extra={"maxLength": MAX_NAME})]
    value: Annotated[Any, Described(Value)]
    comment: str = UNCHANGED
    external_id: Annotated[
        NotEmpty, Field(description=f"Up to {MAX_TEXT} characters, once in a workspace.")
    ] = UNCHANGED


class FeedbackAnswer(ResponseSchema):
    """Feedback on a version."""

    id: Annotated[str, Source(lambda given: str(given.pk))]
    version_id: Annotated[str | None, Source(lambda given: given.version_id or None)]
    arm: Annotated[str | None, Source(lambda given: given.arm or None)]
    run_id: Annotated[UuidOrNull, Source(lambda given: str(given.run_id) if given.run_id else None)]
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
    """The feedback, summed up."""

    summary: Annotated[list[SummaryAnswer], Source(lambda found: found)]
