"""Versions that are waiting to go live, and are therefore not pruned.

An application that stores versions in order to publish them later, as releases do, declares them
(`EditorApp.keeps_versions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from django.db.models import PROTECT, RESTRICT

from versioning.domain.errors import Invalid, Message, VersioningError
from versioning.domain.registering import require_callable, require_instance
from versioning.models import VersionedResource

Pinned = Callable[[VersionedResource], Iterable[UUID]]
"""Returns the primary keys of the versions of a locked resource that are still needed."""


@dataclass(frozen=True, kw_only=True)
class KeptVersions:
    """Versions that are not pruned."""

    pinned: Pinned
    refusal: Callable[[], VersioningError] | None = None
    """If given, people cannot delete them either; returns the error, which gives the reason and the remedy.
    """


_registered: Final[list[KeptVersions]] = []
_PROTECTING: Final = (PROTECT, RESTRICT)


def register(kept_versions: KeptVersions) -> None:
    """Protect these versions from being pruned."""
    require_instance(kept_versions, KeptVersions, by="keeps_versions")
    require_callable(kept_versions.pinned, by="KeptVersions(pinned=…)")
    _registered.append(kept_versions)


def pinned_versions(resource: VersionedResource) -> set[UUID]:
    """Return the primary keys of the versions of a locked resource that an application protects.

    It declares them, or its rows refer to them by a foreign key with `PROTECT` or `RESTRICT`.
    """
    declared = {version_id for pins in _registered for version_id in pins.pinned(resource)}
    return declared | {
        version_id
        for relation in resource.version_model._meta.related_objects
        if relation.on_delete in _PROTECTING
        for version_id in relation.related_model._base_manager.filter(  # noqa: SLF001  as Django deletes
            **{f"{relation.field.name}__resource": resource.pk}
        ).values_list(relation.field.attname, flat=True)
    }


def refuse_to_delete(resource: VersionedResource, version_id: UUID) -> None:
    """Raise if an application does not allow deleting this version of a locked resource."""
    for pins in _registered:
        if pins.refusal is not None and version_id in set(pins.pinned(resource)):
            raise pins.refusal()


def in_use(problem: Message) -> Callable[[], VersioningError]:
    """Return a function that makes the error for a version in use; `problem` has no subject."""
    return partial(Invalid.field, "versionId", problem, code="version_in_use")
