"""From a selector to a snapshot: every rule of selection and fallback, for every path.

The record routes, the served agent, export, clone and the studio all come through here.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Generic, TypeVar

from versioning.access import Caller, Right
from versioning.errors import NotFound
from versioning.models import VersionedResource
from versioning.selectors import PUBLISHED, Selector, Status
from versioning.served import Notice
from versioning.snapshots import Snapshot

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class Resolved(Generic[R]):
    """A resource together with the version that a selector chose."""

    resource: R
    version: Snapshot
    selector: Selector = PUBLISHED
    fallback: Notice | None = None
    warnings: tuple[Notice, ...] = ()


NEVER_PUBLISHED = Notice(
    code="no_published_version", message="Nothing is published yet; this is the latest version instead."
)


def select(resource: R, selector: Selector, caller: Caller) -> Resolved[R]:
    """Return the version of a readable resource that the selector names.

    Raises `NotFound` for a version, a label or a published version that is not there, and
    `Forbidden` when the version is not the published one and the caller may not read drafts.
    """
    if resource.gone and selector.version_id is None:
        raise NotFound
    version = _selected(resource, selector, caller)
    fallback = None
    if version is None and selector.status is Status.PUBLISHED:
        # Only readers of drafts get here: for others a resource without a published version is missing.
        version, fallback = resource.latest, NEVER_PUBLISHED
    if version is None:
        raise NotFound
    if version.version_id != resource.active_id:
        caller.require(Right.READ_DRAFTS, resource.workspace_id)
    return Resolved(resource=resource, version=version, selector=selector, fallback=fallback)


def find_version(resource: VersionedResource, version_id: str) -> Snapshot:
    """Return the version of this resource with this id; raises `NotFound` for any other."""
    found: Snapshot | None = resource.standing.find(version_id) if resource.standing else None
    if found is None:
        found = resource.versions.select_related("author").filter(pk=_parsed(version_id)).first()
    if found is None:
        raise NotFound
    return found


def _parsed(text: str) -> uuid.UUID:
    """Return the id of a database version; raises `NotFound` for a text that cannot be one."""
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        raise NotFound from None
    if str(parsed) != text:
        raise NotFound
    return parsed


def _selected(resource: VersionedResource, selector: Selector, caller: Caller) -> Snapshot | None:
    """Return the version that the selector names, or None."""
    if selector.version_id is not None:
        return find_version(resource, selector.version_id)
    if selector.status is Status.DRAFT or selector.label == "latest":
        caller.require(Right.READ_DRAFTS, resource.workspace_id)
        return resource.latest
    if selector.status is Status.PUBLISHED or selector.label == "production":
        return resource.active
    label = resource.labels.select_related("version__author").filter(name=selector.label).first()
    return None if label is None else label.version
