"""Schedules over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.schedules.models import Action, Schedule
from capabilities.schedules.schemas import (
    STATES,
    ScheduleAnswer,
    ScheduleCreate,
    SchedulePage,
    ScheduleUpdate,
)
from capabilities.schedules.verbs import Schedules, Times
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page
from versioning.api.schemas import Json, Nothing
from versioning.domain.access import Action as KeyAction
from versioning.domain.errors import Invalid, Issue

ORDERS: Final = {"runAt": "run_at", "createdAt": "created_at"}
_TIMES: Final = {"runAt": "run_at", "localTime": "local_time", "timeZone": "time_zone"}
_ARGUMENTS: Final = {
    "action": "action",
    "versionId": "version_id",
    "until": "until",
    "expects": "expects",
    "force": "force",
}


class ScheduleViewSet(EditorViewSet):
    """Scheduled versions and releases."""

    job = "Release"
    subject = "schedule"
    actions = dict.fromkeys(("create", "update", "destroy"), KeyAction.PUBLISH)
    created = frozenset({"create"})
    errors = {"create": (404, 409), "update": (409,), "destroy": (409,)}
    query = {
        "list": (
            *parameters.paging(100, ORDERS),
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("releaseId", "Only of this release."),
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.WORKSPACE,
        ),
    }
    requests = {"create": ScheduleCreate, "update": ScheduleUpdate, "destroy": Nothing}
    paths = {"id": (parameters.UUID, "The id of the schedule.")}
    responses = {
        "list": SchedulePage,
        "create": ScheduleAnswer,
        "retrieve": ScheduleAnswer,
        "update": ScheduleAnswer,
        "destroy": ScheduleAnswer,
    }

    @property
    def schedules(self) -> Schedules:
        """The verbs."""
        return Schedules.current()

    def list(self, request: Request) -> Response:
        """List the schedules that the caller may read."""
        given = request.query_params
        found = self.schedules.list(
            kind=given.get("kind"),
            resource_id=given.get("id"),
            release_id=given.get("releaseId"),
            state=given.get("state"),
            workspace_id=given.get("workspaceId"),
            by=self.caller,
        )
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found.with_pairs(), self._judged)

    def create(self, request: Request) -> Response:
        """Schedule a version of a resource, or a release."""
        given = ScheduleCreate.read(request)
        if ("resource" in given) == ("releaseId" in given):
            raise Invalid.field("resource", "is required, unless releaseId is given")
        arguments = {name: given[member] for member, name in _ARGUMENTS.items() if member in given}
        if given.get("then") is not None:
            arguments["then"] = given["then"]["versionId"]
        times = _times(given)
        if "releaseId" in given:
            _refuse_for_releases(given)
            made = self.schedules.create_for_release(
                given["releaseId"], times, force=given.get("force", False), by=self.caller
            )
        else:
            about = given["resource"]
            made = self.schedules.create(about["kind"], about["id"], times, **arguments, by=self.caller)
        address = addresses.location(f"schedules/{made.pk}")
        return with_etag(request, self.dump(made), status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a schedule."""
        return self._answer(request, self.schedules.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change the time of a schedule."""
        times = _times(ScheduleUpdate.read(request))
        return self._answer(request, self.schedules.change(id, times, by=self.caller))

    def destroy(self, request: Request, id: str) -> Response:
        """Cancel it, and with a beginning its end; the record stays."""
        Nothing.read(request)
        return self._answer(request, self.schedules.cancel(id, by=self.caller))

    def _answer(self, request: Request, schedule: Schedule) -> Response:
        [judged] = self._judged([schedule])
        return with_etag(request, self.dump(judged))

    def _judged(self, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        """Return schedules with what would prevent them from running now."""
        problems = self.schedules.problems(schedules)
        for schedule in schedules:
            schedule.problems = problems.get(schedule.pk, ())
        return schedules


def _times(given: Json) -> Times:
    return Times(**{name: given[member] for member, name in _TIMES.items() if member in given})


def _refuse_for_releases(given: Json) -> None:
    """Raise `Invalid` for members that a schedule of a release cannot have: the release determines them."""
    pointless = [name for name in ("versionId", "until", "then", "expects") if given.get(name) is not None]
    if given.get("action", Action.PUBLISH) != Action.PUBLISH:
        pointless.append("action")
    if pointless:
        raise Invalid([Issue(name, "is not for a release") for name in pointless])
