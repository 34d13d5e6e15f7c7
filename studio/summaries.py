"""A resource in a line: what the lists, the home page and the head of every page say about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from studio.room import shortened
from versioning.domain.access import Caller, Right
from versioning.domain.overrides import CodeAgent
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


class Shown(Enum):
    """The state of a resource in the three words that editors know."""

    PUBLISHED = "Published"
    DRAFT = "Draft"
    CHANGED = "Changed"

    @property
    def meaning(self) -> str:
        """The word, explained."""
        return {
            Shown.PUBLISHED: "What was saved last is live",
            Shown.DRAFT: "Nothing is live yet",
            Shown.CHANGED: "Live, with newer edits that are not published",
        }[self]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What is said about a resource in one line."""

    resource_id: str
    name: str
    state: Shown
    origin: str
    """Where what is live comes from: `stored`, `code`, `code + override` or `Git`."""
    workspace_id: str
    visibility: str | None
    """`private` or `public`; None where the kind has none."""

    @property
    def folder(self) -> str:
        """The part of the id before the last `/`, with it; empty without one."""
        return self.resource_id[: self.resource_id.rfind("/") + 1]

    @property
    def leaf(self) -> str:
        """The id without its folder."""
        return self.resource_id[len(self.folder) :]


def summary_of(resource: VersionedResource, code: CodeAgent | None, caller: Caller) -> Summary:
    """Return what the caller may know of a resource, in a line; `code` is the agent it overrides."""
    drafts = caller.may(Right.READ_DRAFTS, resource.workspace_id)
    shown = resource.latest if drafts else resource.active
    return Summary(
        resource_id=resource.pk,
        name=shortened(code.name if code else _name_of(shown) or resource.pk),
        state=_state_of(resource, code, drafts=drafts),
        origin=_origin_of(resource, code),
        workspace_id=resource.workspace_id,
        visibility=code.visibility if code else getattr(resource, "visibility", None),
    )


def summary_of_code(agent: CodeAgent, workspace_id: str) -> Summary:
    """Return a line about an agent that only code defines."""
    return Summary(
        resource_id=agent.id,
        name=shortened(agent.name),
        state=Shown.PUBLISHED,
        origin="code",
        workspace_id=workspace_id,
        visibility=agent.visibility,
    )


def _state_of(resource: VersionedResource, code: CodeAgent | None, *, drafts: bool) -> Shown:
    if resource.active_id is None and code is None:
        return Shown.DRAFT
    # Without an active override the code itself is live, and every version is newer than it.
    return Shown.CHANGED if drafts and resource.has_draft else Shown.PUBLISHED


def _origin_of(resource: VersionedResource, code: CodeAgent | None) -> str:
    if code is None:
        return "stored"
    if resource.active_id is None:
        return "code"
    return "code + override" if resource.pointers is None else "Git"


def _name_of(version: Snapshot | Any | None) -> str:
    if version is None:
        return ""
    # A row has its name in a column of its own, so that a list need not read whole configurations.
    name: str | None = getattr(version, "name", None)
    return version.config.get("name", "") if name is None else name
