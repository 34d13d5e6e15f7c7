"""Versions that are still to go live, and are therefore not pruned.

An application that remembers versions in order to publish them later, such as those of a release, declares
which these are (`EditorApp.keeps_versions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from versioning.domain.registering import require_callable, require_instance
from versioning.models import VersionedResource

Pinned = Callable[[VersionedResource], Iterable[UUID]]
"""Returns the primary keys of the versions of a locked resource that are still needed."""


@dataclass(frozen=True, kw_only=True)
class KeptVersions:
    """Versions that are kept from being pruned."""

    pinned: Pinned
    refusal: str | None = None
    """If given, people cannot delete them either: it says why, without a subject, and what can be done."""


_registered: Final[list[KeptVersions]] = []


def register(kept: KeptVersions) -> None:
    """Keep these versions from being pruned."""
    require_instance(kept, KeptVersions, by="keeps_versions")
    require_callable(kept.pinned, by="KeptVersions(pinned=…)")
    _registered.append(kept)


def pinned_versions(resource: VersionedResource) -> set[UUID]:
    """Return the primary keys of the versions of a locked resource that an application keeps."""
    return {version_id for pins in _registered for version_id in pins.pinned(resource)}


def refusal_to_delete(resource: VersionedResource, version_id: UUID) -> str | None:
    """Return why a version of a locked resource must not be deleted; None if it may be."""
    for pins in _registered:
        if pins.refusal is not None and version_id in set(pins.pinned(resource)):
            return pins.refusal
    return None
