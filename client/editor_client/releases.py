"""Releases: agents and prompt blocks that are published together. Described as in `stored`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict, Unpack

from editor_client.arguments import Ordering, Paging
from editor_client.calls import Call, Request, encoded, reading, segment
from editor_client.log import Reference
from editor_client.naming import with_json_names
from editor_client.records import Page
from editor_client.result import CachedResult, Result, Success
from editor_client.stored import entity_tag

ReleaseState = Literal["draft", "published", "reverted"]
Action = Literal["publish", "unpublish"]
Kind = Literal["agent", "promptBlock"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseItem(Result):
    """What becomes of a resource."""

    resource: Reference
    action: Action
    version_id: str | None = None
    """The version to publish."""
    version_number: int | None = None
    active_before: str | None = None
    """What was live before the release; while it is a draft, what is live now."""
    newer: bool
    """Whether a version was saved after the one to publish."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseRecord(CachedResult):
    """A release, as it stood when it was read."""

    id: str
    workspace_id: str
    title: str
    description: str
    state: ReleaseState
    items_: tuple[ReleaseItem, ...]
    """The member `items`, which is the name of a method here."""
    created_by: str | None = None
    created_at: datetime.datetime
    published_by: str | None = None
    published_at: datetime.datetime | None = None
    reverts: str | None = None
    """The release that it takes back."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseConflict(Result):
    """A resource that is left alone because something else is live by now."""

    resource: Reference
    version_id: str | None = None
    """The version that the release made live."""
    active_version_id: str | None = None
    """The version that is live now."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Revert(ReleaseRecord):
    """A draft release that takes another one back."""

    conflicts: tuple[ReleaseConflict, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem(Result):
    """What keeps a release from being published, or is worth knowing before it is."""

    resource: Reference | None = None
    """None for the release itself."""
    code: str
    message: str


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseCheck(Result):
    """Whether a release could be published when that was asked."""

    ok: bool
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasePage(Page[ReleaseRecord]):
    """A page of releases, newest first."""

    releases: tuple[ReleaseRecord, ...]

    @property
    def entries(self) -> tuple[ReleaseRecord, ...]:
        """The releases."""
        return self.releases


class NewReleaseItem(TypedDict):
    """A resource to publish in this version, the latest one without `version_id`; or to unpublish."""

    kind: Kind
    id: str
    action: NotRequired[Action]
    version_id: NotRequired[str]


class ReleaseArguments(TypedDict, total=False):
    """What a release holds."""

    description: str
    items: Sequence[NewReleaseItem]


class ReleaseChanges(ReleaseArguments, total=False):
    """A change of a draft release; `items` replaces all of them."""

    title: str


class ReleaseFilters(TypedDict, total=False):
    """What a list of releases can be narrowed by."""

    workspace_id: str
    state: ReleaseState


class ReleaseList(ReleaseFilters, Paging, total=False):
    """The arguments of a list of releases."""


class ReleaseWalk(ReleaseFilters, Ordering, total=False):
    """The arguments for iterating over all releases."""


class Release:
    """One release, by id."""

    def __init__(self, release_id: str) -> None:
        self.id = release_id
        self.path = f"/releases/{segment('id', release_id)}"

    def details(self) -> Call[ReleaseRecord]:
        """Read the release, and what is live now of what it names."""
        return Call(request=Request(method="GET", path=self.path), read=reading(ReleaseRecord, id=self.id))

    def update(
        self, *, base: CachedResult | str | None = None, **changes: Unpack[ReleaseChanges]
    ) -> Call[ReleaseRecord]:
        """Change a draft release; with a `base` only if nobody else has changed it since."""
        request = Request(
            method="PATCH", path=self.path, body=encoded(_members(changes)), if_match=entity_tag(base)
        )
        return Call(request=request, read=reading(ReleaseRecord, id=self.id), changes=True)

    def delete(self, *, base: CachedResult | str | None = None) -> Call[Success]:
        """Delete a release that is not published."""
        request = Request(method="DELETE", path=self.path, if_match=entity_tag(base))
        return Call(request=request, read=reading(Success), changes=True)

    def check(self) -> Call[ReleaseCheck]:
        """Ask what keeps the release from being published now."""
        return Call(request=Request(method="GET", path=f"{self.path}/check"), read=reading(ReleaseCheck))

    def publish(
        self, *, base: CachedResult | str | None = None, bypass_review: str | None = None
    ) -> Call[ReleaseRecord]:
        """Publish all of it, or nothing.

        Raises `Conflict` with the code `release_blocked`, whose `details["problems"]` say why. An admin may
        give a reason to do without approvals.
        """
        body = {} if bypass_review is None else {"bypassReview": {"reason": bypass_review}}
        request = Request(
            method="POST", path=f"{self.path}/publish", body=encoded(body), if_match=entity_tag(base)
        )
        return Call(request=request, read=reading(ReleaseRecord, id=self.id), changes=True)

    def revert(self) -> Call[Revert]:
        """Make a draft release back to what was live before; what is live is not changed."""
        return Call(request=Request(method="POST", path=f"{self.path}/revert"), read=reading(Revert))


def creation(workspace_id: str, title: str, fields: Any) -> Call[ReleaseRecord]:
    """Describe the call that makes a release."""
    body = encoded({"workspaceId": workspace_id, "title": title, **_members(fields)})
    return Call(request=Request(method="POST", path="/releases", body=body), read=reading(ReleaseRecord))


def _members(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields under their JSON names, with each item as the server takes it."""
    members = with_json_names(fields)
    if "items" in members:
        members["items"] = [_item(item) for item in members["items"]]
    return members


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: value for name, value in item.items() if name not in {"kind", "id"}}
    return {"resource": {"kind": item["kind"], "id": item["id"]}, **with_json_names(more)}
