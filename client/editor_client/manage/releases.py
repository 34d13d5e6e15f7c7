"""Releases: agents and prompt blocks that are published together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Self, TypedDict, Unpack

from editor_client.calls import Base, Call, ResourceKind, reading
from editor_client.manage.shapes import (
    ReleaseAction,
    ReleaseCheck,
    ReleaseFilters,
    ReleasePage,
    ReleaseRecord,
    Revert,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
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
        """Check what prevents the release from being published now."""
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
        members["items"] = [_item(item) for item in members["items"]]
    return members


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: value for name, value in item.items() if name not in {"kind", "id"}}
    return {"resource": {"kind": item["kind"], "id": item["id"]}, **with_json_names(more)}
