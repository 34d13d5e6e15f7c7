"""Schedules: publishing later."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Call, ResourceKind, reading
from editor_client.manage.shapes import (
    ScheduleAction,
    ScheduleFilters,
    SchedulePage,
    ScheduleRecord,
    ScheduleTimes,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import with_json_names


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
