"""The JSON objects of usage."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictInt

from capabilities.rollouts.usage.verbs import cost_of
from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time
from versioning.api.schemas.common import NotEmpty, ReferencedResource
from versioning.api.schemas.runs import CostOrNull
from versioning.domain.config import UNCHANGED

MOST = 10**12
_NUMBER = Annotated[StrictInt, Field(ge=0, le=MOST)]


class UsageReport(RequestSchema):
    """The usage of an application that calls the model itself."""

    resource: ReferencedResource
    version_id: Annotated[NotEmpty | None, Field(description="Null for what code defines.")]
    arm: NotEmpty = UNCHANGED
    runs: _NUMBER
    errors: _NUMBER = UNCHANGED
    input_tokens: _NUMBER = UNCHANGED
    output_tokens: _NUMBER = UNCHANGED
    milliseconds: _NUMBER = UNCHANGED


class UsageOfVersion(ResponseSchema):
    """The usage of a version, in an arm or without one."""

    version_id: Annotated[str | None, Source(lambda row: row["version_id"] or None)]
    version_number: Annotated[int | None, Source(lambda row: row["version_number"])]
    arm: Annotated[str | None, Source(lambda row: row["arm"] or None)]
    runs: Annotated[int, Source(lambda row: row["sum_runs"])]
    errors: Annotated[int, Source(lambda row: row["sum_errors"])]
    input_tokens: Annotated[int, Source(lambda row: row["sum_input_tokens"])]
    output_tokens: Annotated[int, Source(lambda row: row["sum_output_tokens"])]
    milliseconds: Annotated[int, Source(lambda row: row["sum_milliseconds"])]
    cost: Annotated[CostOrNull, Source(cost_of)]
    first_used_at: Annotated[Time, Source(lambda row: row["first"])]
    last_used_at: Annotated[Time, Source(lambda row: row["last"])]


class UsageList(ResponseSchema):
    """The usage of a resource, last used first."""

    usage: Annotated[list[UsageOfVersion], Source(lambda found: found)]
