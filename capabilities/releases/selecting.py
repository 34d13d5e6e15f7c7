"""The selector `release`, and the versions that releases protect from pruning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from capabilities.releases.editing import find
from capabilities.releases.items import moves_of
from capabilities.releases.models import ReleaseItem
from capabilities.releases.models.releases import State
from versioning.domain.access import Caller
from versioning.domain.errors import NotFound
from versioning.editor.pins import KeptVersions
from versioning.models import VersionedResource
from versioning.serving.overlays import Overlay, OverlaySelector


def open_release(release_id: str, caller: Caller) -> Overlay:
    """Return the versions of a draft release; raises `NotFound` for one that is published."""
    release = find(release_id, by=caller)
    if release.state != State.DRAFT:
        raise NotFound("The release is published: only a draft can be selected.")
    return Overlay(selector=SELECTOR.name, versions=moves_of(release.items.all()))


SELECTOR: Final = OverlaySelector(
    name="release",
    description="What would be served if this release were published now.",
    read=open_release,
)


def versions_to_publish(resource: VersionedResource) -> Iterable[UUID]:
    """Return the versions of a resource in draft releases."""
    items = ReleaseItem.objects.filter(
        resource_id=resource.pk,
        kind=resource.kind.slug,
        identity=resource.uuid,
        version_id__isnull=False,
        release__state=State.DRAFT,
    )
    return [version_id for version_id in items.values_list("version_id", flat=True) if version_id]


DRAFT_RELEASES: Final = KeptVersions(pinned=versions_to_publish)
