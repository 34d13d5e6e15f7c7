"""Resolve a selector to a snapshot: every rule of selection and fallback, for every path.

The record routes, the served agent, export, clone and the studio all use it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from editor_client.shared import ids

from versioning.domain.access import Caller, Right
from versioning.domain.errors import NotFound, Unpublished
from versioning.domain.resolved_agent import Notice
from versioning.domain.selectors import PUBLISHED, Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import uuid_of
from versioning.models import VersionedResource, VersionLabel
from versioning.serving.overlays import OverlaidVersion, Overlay, read_overlay

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

    @property
    def is_live(self) -> bool:
        """Whether it is served as published: active, chosen instead, or selected by a released label.

        A version of the requested overlay counts too.
        """
        is_released = self.label is not None and self.label.released
        return is_released or self.is_chosen or self.is_overlaid or self.is_active

    @property
    def is_active(self) -> bool:
        """Whether it is the active version."""
        return self.version.version_id == self.resource.active_id

    @property
    def is_of_overlay_only(self) -> bool:
        """Whether it would be served if the overlay were live, but is not live yet."""
        return self.overlay is not None and not self.is_active and not self.has_grants

    @property
    def is_overlaid(self) -> bool:
        """Whether it is the version of the overlay."""
        return self._overlaid is not None and self._overlaid.version_id == self.version.version_id

    @property
    def has_grants(self) -> bool:
        """Whether it is the version of the overlay, with the grants that it has stored."""
        return self.is_overlaid and self._overlaid is not None and self._overlaid.has_grants

    @property
    def _overlaid(self) -> OverlaidVersion | None:
        return None if self.overlay is None else self.overlay.of(self.resource)


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
    version = label.version if label else _selected(resource, selector)
    fallback = None
    if version is None and selector.status is Status.PUBLISHED:
        # Only callers who may read drafts get here; for others a resource without a published version is
        # missing.
        version, fallback = resource.latest, _fallback(resource, overrides_code=overrides_code)
    if version is None:
        raise NotFound
    found = Resolved(resource=resource, version=version, selector=selector, label=label, fallback=fallback)
    if not found.is_live:
        require_drafts(selector, caller, resource.workspace_id)
    return found


def _fallback(resource: VersionedResource, *, overrides_code: bool) -> Notice:
    """Return why the latest version stands in for the published one; raises `Unpublished`."""
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
    found: Snapshot | None = resource.pointers.find(version_id) if resource.pointers else None
    if found is None:
        found = resource.versions.select_related("author").filter(pk=uuid_of(version_id)).first()
    if found is None:
        raise NotFound
    return found


def _label(resource: VersionedResource, selector: Selector) -> VersionLabel | None:
    """Return the label that the selector names, if it is one that people have set."""
    if selector.label is None or selector.label in ids.RESERVED_LABELS:
        return None
    label: VersionLabel | None = (
        resource.labels.select_related("version__author").filter(name=selector.label).first()
    )
    return label


def _selected(resource: VersionedResource, selector: Selector) -> Snapshot | None:
    """Return the version selected by an id, a status or a computed label, or None."""
    if selector.version_id is not None:
        return find_version(resource, selector.version_id)
    if selector.asks_for_draft:
        return resource.latest
    is_published = selector.status is Status.PUBLISHED or selector.label == "production"
    return resource.active if is_published else None
