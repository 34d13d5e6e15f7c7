"""The JSON objects of a review policy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from review.models import MAX_REQUIRED
from versioning.api.schemas.base import RequestSchema, ResponseSchema
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
    """How many approvals versions of a workspace need to go live."""

    required: _REQUIRED
    bypass: _BYPASS
