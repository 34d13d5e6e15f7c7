"""The JSON objects of reviews."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from capabilities.review.models import VerdictValue
from capabilities.review.reviews.records import ReviewState
from capabilities.review.reviews.subjects import MAX_REVIEWERS, MAX_TEXT
from versioning.api.schemas import (
    NotEmpty,
    NoticeAnswer,
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Time,
    Uuid,
)
from versioning.domain.config import UNCHANGED

STATES = tuple(state.value for state in ReviewState)
ReviewStateName = TypeAliasType("ReviewStateName", Literal[STATES])  # type: ignore[valid-type]
VERDICTS = tuple(VerdictValue.values)
VerdictName = TypeAliasType("VerdictName", Literal[VERDICTS])  # type: ignore[valid-type]

# These limits are enforced in `capabilities.review.reviews.subjects`, for all callers.
_TEXT = Annotated[str, Field(json_schema_extra={"maxLength": MAX_TEXT})]
_REVIEWERS = Annotated[
    list[str],
    Field(
        description="User names of members of the workspace.", json_schema_extra={"maxItems": MAX_REVIEWERS}
    ),
]


class ReviewCreate(RequestSchema):
    """A request for a review."""

    resource: ReferencedResource
    version_id: Annotated[NotEmpty, Field(description="The latest when absent.")] = UNCHANGED
    message: _TEXT | None = None
    reviewers: _REVIEWERS = UNCHANGED


class ReviewUpdate(RequestSchema):
    """A change of a review; an absent member is unchanged."""

    version_id: Annotated[NotEmpty, Field(description="A newer version, to which it is moved.")] = UNCHANGED
    reviewers: _REVIEWERS = UNCHANGED
    state: Annotated[Literal["closed"], Field(description="Ends it.")] = UNCHANGED


class VerdictCreate(RequestSchema):
    """A verdict on the version under review."""

    version_id: Annotated[NotEmpty, Field(description="The version that you have looked at.")]
    verdict: VerdictName
    body: _TEXT | None = None


class VerdictAnswer(ResponseSchema):
    """A person's verdict on a version."""

    by: str
    verdict: VerdictName
    body: str
    version_id: str
    created_at: Time
    counts: Annotated[
        bool, Field(description="Whether it counts for the version under review, at this moment.")
    ]


class ReviewAnswer(ResponseSchema):
    """A review in its current state."""

    id: Uuid
    resource: Annotated[ResourceReference, Source(lambda review: review)]
    version_id: str
    version_number: int
    base_version_id: Annotated[
        str | None, Field(description="The version that was live when the review was asked for.")
    ]
    state: ReviewStateName
    requested_by: str | None
    message: str
    reviewers: Annotated[list[str], Field(description="Who was asked and is a member.")]
    verdicts: Annotated[
        list[VerdictAnswer],
        Field(
            description="The oldest first. An open review also shows what was said of an equal configuration "
            "in earlier reviews."
        ),
    ]
    missing: Annotated[int, Field(description="How many approvals the version still needs to go live.")]
    outdated: Annotated[bool, Field(description="Whether there is a newer version.")]
    created_at: Time
    warnings: Annotated[
        list[NoticeAnswer],
        Field(description="Invisible characters in the version under review; absent in lists."),
    ] = []


class ReviewPage(PageOf):
    """Reviews, newest first."""

    reviews: Annotated[list[ReviewAnswer], Source("items")]
