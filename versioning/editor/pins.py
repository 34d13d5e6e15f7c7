"""Versions that are still to go live, and are therefore not pruned.

An application that remembers versions in order to publish them later, such as those of a release, declares
which these are (`EditorApp.keeps_versions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from versioning.domain.errors import Invalid, Message, VersioningError
from versioning.domain.registering import require_callable, require_instance
from versioning.models import VersionedResource

Pinned = Callable[[VersionedResource], Iterable[UUID]]
"""Returns the primary keys of the versions of a locked resource that are still needed."""


@dataclass(frozen=True, kw_only=True)
class KeptVersions:
    """Versions that are kept from being pruned."""

    pinned: Pinned
    refusal: Callable[[], VersioningError] | None = None
    """If given, people cannot delete them either: the error says why, and what can be done."""


_registered: Final[list[KeptVersions]] = []


def register(kept: KeptVersions) -> None:
    """Keep these versions from being pruned."""
    require_instance(kept, KeptVersions, by="keeps_versions")
    require_callable(kept.pinned, by="KeptVersions(pinned=…)")
    _registered.append(kept)


def pinned_versions(resource: VersionedResource) -> set[UUID]:
    """Return the primary keys of the versions of a locked resource that an application keeps."""
    return {version_id for pins in _registered for version_id in pins.pinned(resource)}


def refuse_to_delete(resource: VersionedResource, version_id: UUID) -> None:
    """Raise for a version of a locked resource that an application does not let people delete."""
    for pins in _registered:
        if pins.refusal is not None and version_id in set(pins.pinned(resource)):
            raise pins.refusal()


def in_use(problem: Message) -> Callable[[], VersioningError]:
    """Return what makes the error of a version that is in use; the problem has no subject."""
    return partial(Invalid.field, "versionId", problem, code="version_in_use")
