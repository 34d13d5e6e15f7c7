"""A resource in a list: its live version, the origin of that version, and the readable details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from editor_client.shared.tags import read_tags

from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.config import make_excerpt
from versioning.domain.overrides import CodeAgent, code_config, merged_config
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


class ResourceState(StrEnum):
    """The state of the two pointers, as far as the caller may see it."""

    PUBLISHED = "published"
    """The newest version is live, or equals the live version."""
    CHANGED = "changed"
    """A version is live, and a newer one would change it: unpublished changes."""
    NEVER_PUBLISHED = "never_published"
    """No version is live, and none ever was."""
    UNPUBLISHED = "unpublished"
    """No version is live, but one was."""


class Origin(StrEnum):
    """Where the live version comes from."""

    STORED = "stored"
    CODE = "code"
    OVERRIDE = "code + override"
    GIT = "Git"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A resource as a catalog shows it."""

    id: str
    name: str
    state: ResourceState
    origin: Origin
    workspace_id: str
    visibility: str | None
    """`private` or `public`; None for a kind without visibility."""
    version: Snapshot | None = None
    """The newest version that the caller may read, or the live one if the newest was taken back.

    None if the code of an agent is live without a draft.
    """
    live_id: str | None = None
    """The id of the version that is live; None if there is none, or the code itself is live."""
    labels: Sequence[str] = ()
    """The names of the labels that the caller may read."""
    tags: Sequence[str] = ()
    excerpt: str = ""
    """The beginning of the version's prompt, in one line; for a code-defined agent, of its served prompt."""


def make_entry(
    resource: VersionedResource, code: CodeAgent | None, caller: Caller, labels: Sequence[str] = ()
) -> Entry:
    """Return the entry of a resource; `code` is the agent that it overrides, if it does."""
    drafts = reads_drafts(caller, resource)
    version: Snapshot | None = resource.current if drafts else resource.active
    if code is not None and resource.is_taken_down and resource.active is None:
        version = None  # the override was unpublished, and the code is live
    name = resource.pk
    if code is not None:
        name = code.name
    elif version is not None:
        # A row has the name in its own column, so a list need not read whole configurations.
        column: str | None = getattr(version, "name", None)
        name = (version.config.get("name") if column is None else column) or name
    if resource.active_id is None and code is None:
        was_live = resource.was_ever_published
        state = ResourceState.UNPUBLISHED if was_live else ResourceState.NEVER_PUBLISHED
    else:
        # Without an active override the code itself is live, and later saves are unpublished changes.
        state = ResourceState.CHANGED if drafts and resource.waits else ResourceState.PUBLISHED
    if code is None:
        origin = Origin.STORED
    elif resource.active_id is None:
        origin = Origin.CODE
    else:
        origin = Origin.OVERRIDE if resource.pointers is None else Origin.GIT
    return Entry(
        id=resource.pk,
        name=name,
        state=state,
        origin=origin,
        workspace_id=resource.workspace_id,
        visibility=code.visibility if code else getattr(resource, "visibility", None),
        version=version,
        live_id=resource.active_id,
        labels=labels,
        tags=read_tags(resource.metadata),
        excerpt=_visible_excerpt(version, code, resource.kind.text_field),
    )


def entry_of_code(agent: CodeAgent, workspace_id: str) -> Entry:
    """Return the entry of a code-defined agent without an override."""
    return Entry(
        id=agent.id,
        name=agent.name,
        state=ResourceState.PUBLISHED,
        origin=Origin.CODE,
        workspace_id=workspace_id,
        visibility=agent.visibility,
        excerpt=_visible_excerpt(None, agent, AGENT.text_field),
    )


def reads_drafts(caller: Caller, resource: VersionedResource) -> bool:
    """Return whether the caller may read the drafts of the resource."""
    return caller.may(Right.READ_DRAFTS, resource.workspace_id)


def _visible_excerpt(version: Snapshot | None, code: CodeAgent | None, text_field: str) -> str:
    if code is not None:
        return make_excerpt(merged_config(code, version.config) if version else code_config(code), text_field)
    if version is None:
        return ""
    # As with the name: lists read it from a column of the row.
    excerpt: str | None = getattr(version, "excerpt", None)
    return make_excerpt(version.config, text_field) if excerpt is None else excerpt
