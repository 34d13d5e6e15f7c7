"""The selector `release`: what would be served if a release were published now.

Another application declares how a release is read (`EditorApp.adds`). Without it there is no release, and
the selector finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from versioning.domain.access import Caller
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.registering import require_callable
from versioning.models import VersionedResource


@dataclass(frozen=True, kw_only=True)
class HeldVersion:
    """What a release does with a resource."""

    identity: UUID
    """The identity of the resource, which a later one with its id does not share."""
    version_id: str | None
    """The version that it publishes; None if it unpublishes the resource."""


@dataclass(frozen=True, kw_only=True)
class OpenRelease:
    """A release that is not published yet."""

    held: Mapping[tuple[str, str], HeldVersion]
    """By the slug of the kind and the id of the resource."""

    def of(self, resource: VersionedResource) -> HeldVersion | None:
        """Return what it does with a resource; None if it leaves it alone.

        Raises `Invalid` for an override that is kept as a file by now, which no release can publish.
        """
        found = self.held.get((resource.kind.slug, resource.pk))
        if found is None or found.identity != resource.uuid:
            return None
        if resource.pointers is not None:
            raise Invalid.field("release", "holds an override that is kept as a file", code="code_source")
        return found


Reader = Callable[[str, Caller], OpenRelease]
"""Returns the release of this id; raises `NotFound` where there is none that is open or that the caller may
know of, and `Forbidden` for who may not read the drafts of its workspace."""

_readers: list[Reader] = []


def register(reader: Reader) -> None:
    """Register how releases are read; the reader that was registered last counts."""
    require_callable(reader, by="releases.register()")
    _readers.append(reader)


def open_release(release_id: str, caller: Caller) -> OpenRelease:
    """Return a release that is not published yet; raises what a `Reader` does."""
    if not _readers:
        raise NotFound
    return _readers[-1](release_id, caller)
