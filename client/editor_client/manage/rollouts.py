"""Rollouts: other versions for a share of the requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, reading
from editor_client.manage.shapes import RolloutFilters, RolloutPage, RolloutRecord
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import Reasons, bypassing, with_json_names


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
