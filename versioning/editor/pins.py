"""Versions that are still to go live, and are therefore not pruned.

An application that remembers versions in order to publish them later, such as those of a release, registers
in `AppConfig.ready()` which these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from uuid import UUID

from versioning.domain.registering import require_callable
from versioning.models import VersionedResource

Pinned = Callable[[VersionedResource], Iterable[UUID]]
"""Returns the primary keys of the versions of a locked resource that are still needed."""


class _Pins(NamedTuple):
    pinned: Pinned
    refusal: str | None


_registered: Final[list[_Pins]] = []


def register(pinned: Pinned, *, refusal: str | None = None) -> None:
    """Keep these versions from being pruned.

    With a `refusal`, people cannot delete them either: it says why, without a subject, and what can be done.
    """
    require_callable(pinned, by="pins.register()")
    _registered.append(_Pins(pinned, refusal))


def pinned_versions(resource: VersionedResource) -> set[UUID]:
    """Return the primary keys of the versions of a locked resource that are kept for somebody."""
    return {version_id for pins in _registered for version_id in pins.pinned(resource)}


def refusal_to_delete(resource: VersionedResource, version_id: UUID) -> str | None:
    """Return why a version of a locked resource must not be deleted; None if it may be."""
    for pins in _registered:
        if pins.refusal is not None and version_id in set(pins.pinned(resource)):
            return pins.refusal
    return None
