"""Versions that are still to go live, and are therefore not pruned.

An application that remembers versions in order to publish them later, such as those of a release, registers
in `AppConfig.ready()` which these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from versioning.models import VersionedResource

Pinned = Callable[[VersionedResource], Iterable[UUID]]
"""Returns the primary keys of the versions of a locked resource that are still needed."""

_pinned: Final[list[Pinned]] = []


def register(pinned: Pinned) -> None:
    """Keep these versions as well."""
    _pinned.append(pinned)


def pinned_versions(resource: VersionedResource) -> set[UUID]:
    """Return the primary keys of the versions of a locked resource that are kept for somebody."""
    return {version_id for pinned in _pinned for version_id in pinned(resource)}
