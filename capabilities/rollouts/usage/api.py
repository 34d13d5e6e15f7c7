"""Usage over HTTP."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final

from pydantic.alias_generators import to_camel
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.rollouts.models import SUMS
from capabilities.rollouts.usage.schemas import UsageList, UsageReport
from capabilities.rollouts.usage.verbs import Usages
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.schemas.common import Success
from versioning.domain.access import Action
from versioning.domain.errors import Invalid

_SUMS: Final = {to_camel(name): name for name in SUMS}
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
        given = request.query_params
        found = self.usage.summed(
            given.get("kind", ""),
            given.get("id", ""),
            since=_day(given, "from"),
            until=_day(given, "to"),
            by=self.caller,
        )
        return Response(self.dump(found))

    def create(self, request: Request) -> Response:
        """Report usage by an application."""
        given = UsageReport.read(request)
        self.usage.report(
            given["resource"]["kind"],
            given["resource"]["id"],
            given["versionId"],
            arm=given.get("arm", ""),
            by=self.caller,
            **{name: given[member] for member, name in _SUMS.items() if member in given},
        )
        return Response(self.dump("The usage is counted."), status=201)


def _day(given: Mapping[str, str], name: str) -> datetime.date | None:
    if name not in given:
        return None
    try:
        return datetime.date.fromisoformat(given[name])
    except ValueError:
        raise Invalid.field(name, "must be a date such as 2026-12-24") from None
