"""Schedules: what is to go live later. Described as in `stored`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from editor_client.arguments import Ordering, Paging
from editor_client.calls import Call, Request, encoded, reading, segment
from editor_client.log import Reference
from editor_client.naming import with_json_names
from editor_client.records import Page
from editor_client.result import Result

ScheduleState = Literal["scheduled", "done", "failed", "cancelled", "missed"]
ScheduleAction = Literal["publish", "unpublish"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Then(Result):
    """The version that is live again afterwards."""

    version_id: str


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduleProblem(Result):
    """What would keep a schedule from happening if it ran now."""

    code: str
    """Such as `review_required`, `unpublished_blocks`, `edit_conflict` or `not_allowed`."""
    message: str


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduleRecord(Result):
    """What is to happen, or what came of it."""

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
    """The other schedule, where one begins and one ends something."""
    expects: str | None = None
    """The version that has to be live by then."""
    force: bool
    state: ScheduleState
    code: str | None = None
    """Why it failed."""
    error: str | None = None
    problems: tuple[ScheduleProblem, ...] = ()
    """What would keep it from happening if it ran now; empty when it is over."""
    created_by: str | None = None
    created_at: datetime.datetime
    executed_at: datetime.datetime | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SchedulePage(Page[ScheduleRecord]):
    """A page of schedules."""

    schedules: tuple[ScheduleRecord, ...]

    @property
    def entries(self) -> tuple[ScheduleRecord, ...]:
        """The schedules."""
        return self.schedules


class ScheduleTimes(TypedDict, total=False):
    """When it is to happen: `run_at`, or `local_time` in `time_zone`."""

    run_at: str
    """ISO 8601 with an offset."""
    local_time: str
    """Such as `2026-12-24T09:00`."""
    time_zone: str
    """Such as `Europe/Berlin`."""


class ScheduleArguments(ScheduleTimes, total=False):
    """What a schedule of a resource is made with."""

    version_id: str | None
    action: ScheduleAction
    until: str
    """When the version `then` is to be live again."""
    then: str
    expects: str | None
    """The version that has to be live by then; the one that is live now when absent."""
    force: bool


class ReleaseScheduleArguments(ScheduleTimes, total=False):
    """What a schedule of a release is made with."""

    force: bool


class ScheduleFilters(TypedDict, total=False):
    """What a list of schedules can be narrowed by."""

    kind: Literal["agent", "promptBlock"]
    id: str
    release_id: str
    state: ScheduleState
    workspace_id: str


class ScheduleList(ScheduleFilters, Paging, total=False):
    """The arguments of a list of schedules."""


class ScheduleWalk(ScheduleFilters, Ordering, total=False):
    """The arguments for iterating over all schedules."""


class Schedule:
    """One schedule, by id."""

    def __init__(self, schedule_id: str) -> None:
        self.id = schedule_id
        self.path = f"/schedules/{segment('id', schedule_id)}"

    def details(self) -> Call[ScheduleRecord]:
        """Read the schedule."""
        return Call(request=Request(method="GET", path=self.path), read=reading(ScheduleRecord, id=self.id))

    def update(self, **times: Unpack[ScheduleTimes]) -> Call[ScheduleRecord]:
        """Give it another time; raises `Conflict` with the code `schedule_ended` if it is over."""
        request = Request(method="PATCH", path=self.path, body=encoded(with_json_names(times)))
        return Call(request=request, read=reading(ScheduleRecord, id=self.id))

    def cancel(self) -> Call[ScheduleRecord]:
        """Cancel it, and with a beginning its end; raises as `update` does."""
        return Call(
            request=Request(method="DELETE", path=self.path), read=reading(ScheduleRecord, id=self.id)
        )


def scheduling(about: dict[str, Any], fields: Any) -> Call[ScheduleRecord]:
    """Describe the call that schedules a resource or a release."""
    given = with_json_names(fields)
    if "then" in given:
        given["then"] = {"versionId": given["then"]}
    body = encoded({**about, **given})
    return Call(request=Request(method="POST", path="/schedules", body=body), read=reading(ScheduleRecord))
