"""Schedules: publishing later."""

from __future__ import annotations

import datetime
from typing import Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, reading
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.reads.log import Reference
from editor_client.result import Result, with_json_names

ScheduleState = Literal["scheduled", "done", "failed", "cancelled", "missed"]
ScheduleAction = Literal["publish", "unpublish"]


class Then(Result):
    """The version that is live again afterwards."""

    version_id: str


class ScheduleProblem(Result):
    """A problem that would prevent a schedule if it ran now."""

    code: str
    """For example `review_required`, `unpublished_blocks`, `edit_conflict` or `not_allowed`."""
    message: str


class ScheduleRecord(Result):
    """A schedule, with its result once it ended."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    release_id: str | None = None
    action: ScheduleAction
    version_id: str | None = None
    version_number: int | None = None
    then: Then | None = None
    run_at: datetime.datetime
    local_time: str | None = None
    time_zone: str | None = None
    ambiguous: bool
    """Whether the local time exists twice; it runs at the first."""
    paired_with: str | None = None
    """The other schedule of a pair."""
    expects: str | None = None
    """The version that must be live by then."""
    force: bool
    state: ScheduleState
    code: str | None = None
    """Why it failed."""
    error: str | None = None
    problems: tuple[ScheduleProblem, ...] = ()
    """What would prevent it from running now; empty after its end."""
    created_by: str | None = None
    created_by_key: str | None = None
    created_at: datetime.datetime
    executed_at: datetime.datetime | None = None


class SchedulePage(Page[ScheduleRecord]):
    """A page of schedules."""

    schedules: tuple[ScheduleRecord, ...]


class ScheduleTimes(TypedDict, total=False):
    """Its time: `run_at`, or `local_time` in `time_zone`."""

    run_at: str
    """ISO 8601 with an offset."""
    local_time: str
    """For example `2026-12-24T09:00`."""
    time_zone: str
    """For example `Europe/Berlin`."""


class ScheduleArguments(ScheduleTimes, total=False):
    """The arguments for scheduling a resource."""

    version_id: str | None
    action: ScheduleAction
    until: str
    """When the version `then` goes live again."""
    then: str
    expects: str | None
    """The version that must be live by then; by default the one that is live now."""
    force: bool


class ReleaseScheduleArguments(ScheduleTimes, total=False):
    """The arguments for scheduling a release."""

    force: bool


class ScheduleFilters(Paging, total=False):
    """The filters of a list of schedules."""

    kind: ResourceKind
    id: str
    release_id: str
    state: ScheduleState
    workspace_id: str


class Schedule(ById[D_co, ScheduleRecord]):
    """A schedule, by id."""

    _address, _record = "/schedules", ScheduleRecord

    @method
    def update(self, **times: Unpack[ScheduleTimes]) -> Call[ScheduleRecord]:
        """Change its time; raises `Conflict` with the code `schedule_ended` if it is over."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(times))

    @method
    def cancel(self) -> Call[ScheduleRecord]:
        """Cancel it, and with a beginning its end; raises as `update` does."""
        return Call.to("DELETE", self._path, self._read)


class ScheduleMethods(Driver):
    """The methods of a client for schedules."""

    @method
    def list_schedules(self, **filters: Unpack[ScheduleFilters]) -> Call[SchedulePage]:
        """List the schedules whose drafts the key may read, the latest time first."""
        return listing("/schedules", SchedulePage, filters)

    iter_schedules = iterating(list_schedules)

    @method
    def create_schedule(
        self, kind: ResourceKind, resource_id: str, **fields: Unpack[ScheduleArguments]
    ) -> Call[ScheduleRecord]:
        """Schedule a version of a resource: `version_id`, and `run_at` or `local_time` and `time_zone`."""
        body = {"resource": {"kind": kind, "id": resource_id}, **with_json_names(fields)}
        if "then" in body:
            body["then"] = {"versionId": body["then"]}
        return Call.to("POST", "/schedules", reading(ScheduleRecord), body=body)

    @method
    def schedule_release(
        self, release_id: str, **fields: Unpack[ReleaseScheduleArguments]
    ) -> Call[ScheduleRecord]:
        """Schedule a release: `run_at`, or `local_time` and `time_zone`."""
        body = {"releaseId": release_id, **with_json_names(fields)}
        return Call.to("POST", "/schedules", reading(ScheduleRecord), body=body)

    def get_schedule(self, schedule_id: str) -> Schedule[Self]:
        """Return a schedule; no request is sent yet."""
        return Schedule(self, schedule_id)
