"""Stars: resources that a person wants at hand. The API calls them favorites."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from studio.kinds import StudioKind
from versioning.domain.access import Caller


@dataclass(frozen=True, kw_only=True)
class Star:
    """The star of a resource for one person, which the tag `star_button` renders."""

    address: str
    """The address to set and remove it."""
    is_set: bool


def stars_of(kind: StudioKind, resource_ids: Collection[str], caller: Caller) -> dict[str, Star]:
    """Return the stars of resources of one kind, by id, in one query."""
    found = kind.collection.favorites_about(resource_ids, by=caller) if resource_ids else {}
    return {
        resource_id: Star(address=kind.address("star", resource_id), is_set=favorited.by_caller)
        for resource_id, favorited in found.items()
    }
