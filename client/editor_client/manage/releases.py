"""Releases of agents and prompt blocks, schedules for publishing, and rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, Self, TypedDict, Unpack

from editor_client.calls import Base, Call, ResourceKind, reading
from editor_client.manage.shapes import (
    ReleaseAction,
    ReleaseCheck,
    ReleaseFilters,
    ReleasePage,
    ReleaseRecord,
    Revert,
    RolloutFilters,
    RolloutPage,
    RolloutRecord,
    ScheduleAction,
    ScheduleFilters,
    SchedulePage,
    ScheduleRecord,
    ScheduleTimes,
)
from editor_client.methods import ById, D_co, Driver, iterating, listing, method
from editor_client.result import Reasons, Success, bypassing, with_json_names


class NewReleaseItem(TypedDict):
    """A resource to publish in this version, by default the latest one, or to unpublish."""

    kind: ResourceKind
    id: str
    action: NotRequired[ReleaseAction]
    version_id: NotRequired[str]


class ReleaseArguments(TypedDict, total=False):
    """The content of a release."""

    description: str
    items: Sequence[NewReleaseItem]


class ReleaseChanges(ReleaseArguments, total=False):
    """A change of a draft release; `items` replaces all of them."""

    title: str


class Release(ById[D_co, ReleaseRecord]):
    """A release, by id."""

    _address, _record = "/releases", ReleaseRecord

    @method
    def update(self, *, base: Base = None, **changes: Unpack[ReleaseChanges]) -> Call[ReleaseRecord]:
        """Change a draft release; with a `base` only if it has not been changed since."""
        return Call.to("PATCH", self._path, self._read, body=_members(changes), base=base, changes=True)

    @method
    def delete(self, *, base: Base = None) -> Call[Success]:
        """Delete a release that is not published."""
        return Call.to("DELETE", self._path, reading(Success), base=base, changes=True)

    @method
    def check(self) -> Call[ReleaseCheck]:
        """Return the reasons that prevent the release from being published now."""
        return Call.to("GET", f"{self._path}/check", reading(ReleaseCheck))

    @method
    def publish(self, *, base: Base = None, **reasons: Unpack[Reasons]) -> Call[ReleaseRecord]:
        """Publish all of it, or nothing.

        Raises `Conflict` with the code `release_blocked` and the reasons in `details["problems"]`. An admin
        may bypass approvals and evidence with a reason.
        """
        body = bypassing(reasons)
        return Call.to("POST", f"{self._path}/publish", self._read, body=body, base=base, changes=True)

    @method
    def revert(self) -> Call[Revert]:
        """Create a draft release that goes back to the versions that were live before; publishes nothing."""
        return Call.to("POST", f"{self._path}/revert", reading(Revert))


class ReleaseMethods(Driver):
    """The methods of a client for releases."""

    @method
    def list_releases(self, **filters: Unpack[ReleaseFilters]) -> Call[ReleasePage]:
        """List the releases of the workspaces whose drafts the key may read, newest first."""
        return listing("/releases", ReleasePage, filters)

    iter_releases = iterating(list_releases)

    @method
    def create_release(
        self, workspace_id: str, title: str, **fields: Unpack[ReleaseArguments]
    ) -> Call[ReleaseRecord]:
        """Create a draft release; an item without `version_id` pins the latest version."""
        body = {"workspaceId": workspace_id, "title": title, **_members(fields)}
        return Call.to("POST", "/releases", reading(ReleaseRecord), body=body)

    def get_release(self, release_id: str) -> Release[Self]:
        """Return a release; no request is sent yet."""
        return Release(self, release_id)


def _members(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields under their JSON names, with each item in the server's form."""
    members = with_json_names(fields)
    if "items" in members:
        members["items"] = [
            {
                "resource": {"kind": item["kind"], "id": item["id"]},
                **with_json_names({name: item[name] for name in item if name not in {"kind", "id"}}),
            }
            for item in members["items"]
        ]
    return members


class ScheduleArguments(ScheduleTimes, total=False):
    """The arguments for scheduling a resource."""

    version_id: str | None
    action: ScheduleAction
    until: str
    """The time at which the version `then` goes live again."""
    then: str
    expects: str | None
    """The version that must be live by then; by default the currently live one."""
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


class NewArm(TypedDict):
    """An arm of a new rollout."""

    name: str
    version_id: str
    weight: int


class Rollout(ById[D_co, RolloutRecord]):
    """A rollout, by id."""

    _address, _record = "/rollouts", RolloutRecord

    @method
    def update(self, weights: Mapping[str, int], **reasons: Unpack[Reasons]) -> Call[RolloutRecord]:
        """Change the weights of arms by name; raises `Conflict` with `rollout_ended` if it is over.

        An arm that gets more passes the checks of publishing, and raises like it.
        """
        arms = [{"name": name, "weight": weight} for name, weight in weights.items()]
        body = {"arms": arms, **bypassing(reasons)}
        return Call.to("PATCH", self._path, self._read, body=body)

    @method
    def stop(self, *, reason: str | None = None) -> Call[RolloutRecord]:
        """Serve the active version to everyone again; raises as `update` does."""
        body = {} if reason is None else {"reason": reason}
        return Call.to("POST", f"{self._path}/stop", self._read, body=body)

    @method
    def complete(self, arm: str, **reasons: Unpack[Reasons]) -> Call[RolloutRecord]:
        """Make the version of an arm the active one; raises as `update` does, and like publishing."""
        body = {"arm": arm, **bypassing(reasons)}
        return Call.to("POST", f"{self._path}/complete", self._read, body=body)


class RolloutMethods(Driver):
    """The methods of a client for rollouts."""

    @method
    def list_rollouts(self, **filters: Unpack[RolloutFilters]) -> Call[RolloutPage]:
        """List the rollouts of resources that the key may read, newest first."""
        return listing("/rollouts", RolloutPage, filters)

    iter_rollouts = iterating(list_rollouts)

    @method
    def create_rollout(
        self,
        kind: ResourceKind,
        resource_id: str,
        *,
        bucket_by: str,
        arms: Iterable[NewArm],
        **reasons: Unpack[Reasons],
    ) -> Call[RolloutRecord]:
        """Serve the versions of the arms to a share of the requests.

        Raises `Conflict` with the code `rollout_running` if one is running, and the errors of publishing.
        """
        body = {
            "resource": {"kind": kind, "id": resource_id},
            "bucketBy": bucket_by,
            "arms": [with_json_names(arm) for arm in arms],
            **bypassing(reasons),
        }
        return Call.to("POST", "/rollouts", reading(RolloutRecord), body=body)

    def get_rollout(self, rollout_id: str) -> Rollout[Self]:
        """Return a rollout; no request is sent yet."""
        return Rollout(self, rollout_id)
