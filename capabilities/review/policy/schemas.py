"""The JSON objects of a review policy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from capabilities.review.models import MAX_REQUIRED
from versioning.api.schemas import RequestSchema, ResponseSchema
from versioning.domain.config import UNCHANGED

_REQUIRED = Annotated[int, Field(ge=0, le=MAX_REQUIRED, description="How many approvals a version needs.")]
_BYPASS = Annotated[
    Literal["admin", "nobody"], Field(description="Who may make a version live without them.")
]


class ReviewPolicyUpdate(RequestSchema):
    """A review policy; an absent member has its default: 0, and `admin`."""

    required: _REQUIRED = UNCHANGED
    bypass: _BYPASS = UNCHANGED


class ReviewPolicyAnswer(ResponseSchema):
    """The number of approvals that versions of a workspace need to go live."""

    required: _REQUIRED
    bypass: _BYPASS


class MissingReview(ResponseSchema):
    """The approvals that a version still needs to go live."""

    id: Annotated[
        str | None,
        Field(description="The open review, if there is one.", json_schema_extra={"format": "uuid"}),
    ]
    missing: Annotated[int, Field(ge=0, description="How many approvals are missing.")]
    changes_requested_by: Annotated[list[str], Field(description="Who asks for changes, by user name.")]


class ReviewErrorMembers(ResponseSchema):
    """The additional members of errors about reviews."""

    review: MissingReview | None = None
    review_id: Annotated[str | None, Field(description="The review that is open already.")] = None
