"""Resolve a selector to a snapshot: every rule of selection and fallback, for every path.

The record routes, the served agent, export, clone and the studio all use it. The result is a `Candidate`: a
configuration of a stored or a code-defined agent, before evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.utils.functional import cached_property
from editor_client.shared import canonical, ids

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Notice
from versioning.domain.config import Config
from versioning.domain.errors import NotFound, Unpublished
from versioning.domain.overrides import IN_CODE, CodeAgent, apply_override, merged_config
from versioning.domain.selectors import PUBLISHED, SelectedBlocks, Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.models import Agent, VersionedResource, VersionLabel
from versioning.serving.overlays import Overlay, read_overlay

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class Resolved(Generic[R]):
    """A resource together with the selected version."""

    resource: R
    version: Snapshot
    selector: Selector = PUBLISHED
    label: VersionLabel | None = None
    """The requested label; None for a computed one."""
    overlay: Overlay | None = None
    """The requested overlay."""
    is_chosen: bool = False
    """Whether it replaces the active version for this request (`versioning.serving.choice`)."""
    fallback: Notice | None = None
    warnings: tuple[Notice, ...] = ()

    @cached_property
    def is_live(self) -> bool:
        """Whether it is served as published: active, chosen instead, or selected by a released label.

        A version of the requested overlay counts too.
        """
        is_released = self.label is not None and self.label.released
        return is_released or self.is_chosen or self.is_overlaid or self.is_active

    @cached_property
    def is_active(self) -> bool:
        return self.version.version_id == self.resource.active_id

    @property
    def is_of_overlay_only(self) -> bool:
        """Whether it would be served if the overlay were live, but is not live yet."""
        return self.overlay is not None and not self.is_active and not self.has_grants

    @cached_property
    def is_overlaid(self) -> bool:
        overlaid = None if self.overlay is None else self.overlay.of(self.resource)
        return overlaid is not None and overlaid.version_id == self.version.version_id

    @property
    def has_grants(self) -> bool:
        """Whether it is the version of the overlay, with the grants that it has stored."""
        overlaid = self.overlay.of(self.resource) if self.overlay is not None and self.is_overlaid else None
        return overlaid is not None and overlaid.has_grants


NEVER_PUBLISHED = Notice(
    code="no_published_version", message="Nothing is published yet; this is the latest version instead."
)
NO_PUBLISHED_OVERRIDE = Notice(
    code="no_published_version",
    message="No override is published, so the agent in code is served; this is the latest version instead.",
)


def select(
    resource: R,
    selector: Selector,
    caller: Caller,
    *,
    chosen: Snapshot | None = None,
    overrides_code: bool = False,
) -> Resolved[R]:
    """Return the version of a readable resource that the selector names.

    `chosen` replaces the active version for this request. Raises `NotFound` if the version, the label or a
    published version does not exist, and `Unpublished` if the published version was taken out of service,
    unless the resource `overrides_code`, which then serves. A version that is neither published nor selected
    by a released label requires the right to read drafts; without it, raises as `require_drafts` does.
    """
    if resource.gone and selector.version_id is None:
        raise NotFound
    if selector.overlay is not None:
        overlay = read_overlay(selector.overlay, caller)
        return _in_overlay(resource, selector, overlay, caller, overrides_code=overrides_code)
    if selector.asks_for_draft:
        require_drafts(selector, caller, resource.workspace_id)
    if chosen is not None and selector.status is Status.PUBLISHED:
        return Resolved(resource=resource, version=chosen, selector=selector, is_chosen=True)
    label = _label(resource, selector)
    version = label.version if label else _select_version(resource, selector)
    fallback = None
    if version is None and selector.status is Status.PUBLISHED:
        # Only callers with access to drafts get here; for others a resource without a published version is
        # missing.
        version, fallback = resource.latest, _fallback(resource, overrides_code=overrides_code)
    if version is None:
        raise NotFound
    resolved = Resolved(resource=resource, version=version, selector=selector, label=label, fallback=fallback)
    if not resolved.is_live:
        require_drafts(selector, caller, resource.workspace_id)
    return resolved


def _fallback(resource: VersionedResource, *, overrides_code: bool) -> Notice:
    """Return why the latest version replaces the published one; raises `Unpublished`."""
    if overrides_code:
        return NO_PUBLISHED_OVERRIDE
    if resource.was_ever_published:
        raise Unpublished
    return NEVER_PUBLISHED


def _in_overlay(
    resource: R, selector: Selector, overlay: Overlay, caller: Caller, *, overrides_code: bool
) -> Resolved[R]:
    """Return the version that would be served; the caller may read the drafts of the overlay."""
    overlaid = overlay.of(resource)
    if overlaid is None:
        live = select(resource, PUBLISHED, caller, overrides_code=overrides_code)
        return replace(live, selector=selector, overlay=overlay)
    if overlaid.version_id is None:
        version, fallback = resource.latest, _fallback(resource, overrides_code=overrides_code)
    else:
        version, fallback = find_version(resource, overlaid.version_id), None
    return Resolved(resource=resource, version=version, selector=selector, overlay=overlay, fallback=fallback)


def require_drafts(selector: Selector, caller: Caller, workspace_id: str) -> None:
    """Raise unless the caller may read drafts and history in the workspace.

    Raises `Forbidden`, but `NotFound` for a non-member who names a version or a label: such a caller must not
    learn which versions and labels a public agent has.
    """
    if selector.status is None and not caller.may(Right.READ, workspace_id):
        raise NotFound
    caller.require(Right.READ_DRAFTS, workspace_id)


def find_version(resource: VersionedResource, version_id: str) -> Snapshot:
    """Return the version of this resource with this id; raises `NotFound` if there is none."""
    version: Snapshot | None = resource.pointers.find(version_id) if resource.pointers else None
    if version is None:
        version = resource.versions.select_related("author").filter(pk=parse_uuid(version_id)).first()
    if version is None:
        raise NotFound
    return version


def _label(resource: VersionedResource, selector: Selector) -> VersionLabel | None:
    """Return the label that the selector names, unless it is a computed one."""
    if selector.label is None or selector.label in ids.RESERVED_LABELS:
        return None
    label: VersionLabel | None = (
        resource.labels.select_related("version__author").filter(name=selector.label).first()
    )
    return label


def _select_version(resource: VersionedResource, selector: Selector) -> Snapshot | None:
    """Return the version selected by an id, a status or a computed label, or None."""
    if selector.version_id is not None:
        return find_version(resource, selector.version_id)
    if selector.asks_for_draft:
        return resource.latest
    is_published = selector.status is Status.PUBLISHED or selector.label == "production"
    return resource.active if is_published else None


class Blocks(Enum):
    """The choice of the text of a referenced prompt block."""

    LIVE = "published"
    """The published text of blocks in the agent's workspace, or granted when it was published; for any
    caller."""
    READABLE = "published, of blocks that the caller may read"
    """For versions that are not published: a reference in a draft gives no access."""
    DRAFTS = "the latest that the caller may read"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration about to be served, and its origin."""

    id: str
    uuid: UUID
    config: Config
    source: str
    status: Status
    metadata: Mapping[str, Any]
    version_id: str | None
    version_number: int | None
    granted_to: str | None
    """The version whose grants count."""
    active_version_id: str | None
    selector: Selector
    policy: Blocks
    is_live: bool
    workspace_id: str
    fallback: Notice | None = None
    overlay: Overlay | None = None
    """An overlay whose prompt blocks count as if they were live."""
    has_grants: bool = False
    """Whether the version of the overlay has stored grants that count."""
    selected_blocks: SelectedBlocks = field(default_factory=dict)
    """The prompt blocks for which the request selects a version."""

    @property
    def is_of_overlay_only(self) -> bool:
        """Whether it would be served if the overlay were live, but is not live yet."""
        is_other = self.overlay is not None and self.version_id not in {self.active_version_id, None}
        return is_other and not self.has_grants

    @classmethod
    def from_resource(cls, resolved: Resolved[Agent]) -> Candidate:
        agent = resolved.resource
        return cls(
            id=agent.pk,
            uuid=agent.uuid,
            config=resolved.version.config,
            source="stored",
            status=Status.PUBLISHED if agent.active_id else Status.DRAFT,
            metadata=agent.metadata,
            version_id=resolved.version.version_id,
            version_number=resolved.version.number,
            granted_to=resolved.version.version_id,
            active_version_id=agent.active_id,
            selector=resolved.selector,
            policy=_policy(resolved),
            is_live=resolved.is_live,
            workspace_id=agent.workspace_id,
            fallback=resolved.fallback,
            overlay=resolved.overlay,
            has_grants=resolved.has_grants,
        )

    @classmethod
    def code(
        cls,
        agent: CodeAgent,
        selector: Selector,
        *,
        workspace_id: str,
        row: Agent | None,
        override: Resolved[Agent] | None,
        overlay: Overlay | None = None,
    ) -> Candidate:
        """Return the candidate for a code-defined agent, with the selected override applied.

        `workspace_id` is the workspace of code-defined agents.
        """
        return cls(
            id=agent.id,
            uuid=IN_CODE,
            config=merged_config(agent, override.version.config if override else {}),
            source="code",
            status=Status.PUBLISHED,
            metadata={**agent.metadata, **(row.metadata if row else {})},
            version_id=override.version.version_id if override else None,
            version_number=override.version.number if override else None,
            granted_to=_published_as(agent, override) if override else None,
            active_version_id=row.active_id if row else None,
            selector=selector,
            policy=_policy(override) if override else Blocks.LIVE,
            workspace_id=workspace_id,
            is_live=override.is_live if override else True,
            overlay=overlay,
            has_grants=override is not None and override.has_grants,
        )


def _published_as(agent: CodeAgent, override: Resolved[Agent]) -> str:
    """Return the id of the version as which an override was published.

    The content of a file is identified by the newest version or commit with the same configuration. Neither a
    copy of the live version nor its commit was published, so neither affects the live one's grants.
    """
    row, version = override.resource, override.version
    published, file = row.active_version, row.pointers.file if row.pointers else None
    if (
        not override.is_active
        or published is None
        or file is None
        or published.version_id == version.version_id
    ):
        return version.version_id
    holds = canonical.digest(apply_override(agent, published.config)) == file.digest
    return published.version_id if holds else version.version_id


def _policy(resolved: Resolved[Agent]) -> Blocks:
    if resolved.selector.asks_for_draft:
        return Blocks.DRAFTS
    if resolved.is_overlaid and resolved.is_of_overlay_only:  # it has no grants yet
        return Blocks.READABLE
    return Blocks.LIVE if resolved.is_live else Blocks.READABLE
