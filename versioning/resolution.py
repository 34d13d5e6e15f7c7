"""From a selector to a snapshot: every rule of selection and fallback, for every path.

The record routes, the served agent, export, clone and the studio all come through here.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Generic, TypeVar

from versioning.access import Caller, Right
from versioning.errors import NotFound
from versioning.models import Version, VersionedResource
from versioning.selectors import PUBLISHED, Selector, Status
from versioning.served import Notice

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class Resolved(Generic[R]):
    """A resource together with the version that a selector chose."""

    resource: R
    version: Version
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
    version_id = _selected_id(resource, selector, caller)
    fallback = None
    if version_id is None:
        # Only readers of drafts get here: for others a resource without a published version is missing.
        version_id, fallback = resource.latest_version_id, NEVER_PUBLISHED
    version = resource.versions.select_related("author").filter(pk=version_id).first()
    if version is None:
        raise NotFound
    if version.pk != resource.active_version_id:
        caller.require(Right.READ_DRAFTS, resource.workspace_id)
    return Resolved(resource=resource, version=version, selector=selector, fallback=fallback)


def parse_version_id(text: str) -> uuid.UUID:
    """Return the id of a database version; raises `NotFound` for a text that cannot be one."""
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        raise NotFound from None
    if str(parsed) != text:
        raise NotFound
    return parsed


def _selected_id(resource: VersionedResource, selector: Selector, caller: Caller) -> uuid.UUID | None:
    if selector.version_id is not None:
        return parse_version_id(selector.version_id)
    if selector.label is not None:
        return _labelled_id(resource, selector.label, caller)
    if selector.status is Status.DRAFT:
        caller.require(Right.READ_DRAFTS, resource.workspace_id)
        return resource.latest_version_id
    return resource.active_version_id


def _labelled_id(resource: VersionedResource, label: str, caller: Caller) -> uuid.UUID:
    if label == "latest":
        caller.require(Right.READ_DRAFTS, resource.workspace_id)
        return resource.latest_version_id
    found = (
        resource.active_version_id
        if label == "production"
        else resource.labels.filter(name=label).values_list("version_id", flat=True).first()
    )
    if found is None:
        raise NotFound
    return found
