"""Overlays: versions that count as if they were live, such as those of an unpublished release.

An application declares the selector of an overlay (`EditorApp.selectors`), in addition to `status`,
`versionId` and `label`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from versioning.domain import selectors
from versioning.domain.access import Caller
from versioning.domain.errors import Invalid
from versioning.domain.registering import require_callable, require_instance
from versioning.domain.selectors import OverlayName
from versioning.models import VersionedResource


@dataclass(frozen=True, kw_only=True)
class OverlaidVersion:
    """The effect of an overlay, or of a transaction, on a resource."""

    identity: UUID
    """The identity of the resource; a later one with the same id has another."""
    version_id: str | None
    """The version that counts as live, if any."""
    has_grants: bool = False
    """Whether it went live before, such as under a released label, so that its stored grants count."""


Versions = Mapping[tuple[str, str], OverlaidVersion]
"""By the slug of the kind and the id of the resource."""


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Versions of some resources that count as if they were live."""

    selector: str
    """The name of the selector, for errors."""
    versions: Versions

    def of(self, resource: VersionedResource) -> OverlaidVersion | None:
        """Return the effect on a resource; None if it has none.

        Raises `Invalid` for an override stored as a file, since only the file can publish it.
        """
        version = self.versions.get((resource.kind.slug, resource.pk))
        if version is None or version.identity != resource.uuid:
            return None
        if resource.pointers is not None:
            raise Invalid.field(
                self.selector, "contains an override that is stored as a file", code="code_source"
            )
        return version


@dataclass(frozen=True, kw_only=True)
class OverlaySelector:
    """A selector that an application adds, whose value is the id of an overlay."""

    name: str
    """The member of selectors, and the query parameter: `release`."""
    description: str
    """The description for the documentation of the API."""
    read: Callable[[str, Caller], Overlay]
    """Returns the overlay of this id; raises `NotFound` for a missing or invisible one, and `Forbidden` for
    callers without access to the drafts of its workspace."""


_registered: dict[str, OverlaySelector] = {}


class _Unnamed(threading.local):
    def __init__(self) -> None:
        self.overlays: dict[OverlayName, Overlay] = {}


_unnamed: Final = _Unnamed()
"""The overlays of this thread, which no application's selector names."""


def register(selector: OverlaySelector) -> None:
    """Add a selector; raises `ValueError` if the name is taken."""
    require_instance(selector, OverlaySelector, by="selectors")
    require_callable(selector.read, by="OverlaySelector(read=…)")
    selectors.declare(selector.name)
    _registered[selector.name] = selector


def list_selectors() -> list[OverlaySelector]:
    return list(_registered.values())


@contextmanager
def counted_as_live(overlay: Overlay) -> Iterator[OverlayName]:
    """Give an overlay a name for selectors, which only this thread knows and only within the block."""
    name = OverlayName(overlay.selector, str(uuid4()))
    _unnamed.overlays[name] = overlay
    try:
        yield name
    finally:
        del _unnamed.overlays[name]


def read_overlay(name: OverlayName, caller: Caller) -> Overlay:
    """Return the overlay that a selector names; raises the same errors as `OverlaySelector.read`."""
    if name in _unnamed.overlays:
        return _unnamed.overlays[name]
    return _registered[name.selector].read(name.id, caller)
