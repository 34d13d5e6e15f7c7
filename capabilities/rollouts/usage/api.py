"""Usage over HTTP."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, StrictInt
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.rollouts.usage.verbs import Usages, cost_of
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.runs import CostOrNull
from versioning.api.schemas import (
    NotEmpty,
    ReferencedResource,
    RequestSchema,
    ResponseSchema,
    Source,
    Success,
    Time,
)
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED
from versioning.domain.errors import Invalid

MOST = 10**12
_NUMBER = Annotated[StrictInt, Field(ge=0, le=MOST)]


class UsageReport(RequestSchema):
    """The usage of an application that calls the model itself."""

    resource: ReferencedResource
    version_id: Annotated[NotEmpty | None, Field(description="Null for the version defined in code.")]
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

    usage: Annotated[list[UsageOfVersion], Source(lambda rows: rows)]


DATE: Final = {"type": "string", "format": "date"}


class UsageViewSet(EditorViewSet):
    """The usage of versions."""

    job = "Measure"
    subject = "usage"
    actions = {"create": Action.RUN}
    created = frozenset({"create"})
    errors = {"create": (404,), "list": (404,)}
    query = {
        "list": (
            parameters.KIND_OF_RESOURCE,
            parameters.ID_OF_RESOURCE,
            parameters.query("from", "The first day, in UTC.", type=DATE),
            parameters.query("to", "The last day, in UTC.", type=DATE),
        )
    }
    requests = {"create": UsageReport}
    responses = {"list": UsageList, "create": Success}

    @property
    def usage(self) -> Usages:
        """The verbs."""
        return Usages.current()

    def list(self, request: Request) -> Response:
        """Sum up the usage of a resource, by version and arm."""
        query = request.query_params
        usage = self.usage.summarize(
            query.get("kind", ""),
            query.get("id", ""),
            since=_day(query, "from"),
            until=_day(query, "to"),
            by=self.caller,
        )
        return Response(self.dump(usage))

    def create(self, request: Request) -> Response:
        """Report usage by an application."""
        arguments = UsageReport.read_arguments(request)
        resource = arguments.pop("resource")
        self.usage.report(resource["kind"], resource["id"], **arguments, by=self.caller)
        return Response(self.dump("The usage is counted."), status=201)


def _day(query: Mapping[str, str], name: str) -> datetime.date | None:
    if name not in query:
        return None
    try:
        return datetime.date.fromisoformat(query[name])
    except ValueError:
        raise Invalid.field(name, "must be a date such as 2026-12-24") from None
