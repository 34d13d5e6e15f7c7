"""The addresses of the pages about releases, and the releases that events name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.urls import reverse

from capabilities.releases.models import Release
from studio.extensions import NamedInEvent
from studio.workspaces.views import address
from versioning.domain.access import Caller
from versioning.models import Event


def of_release(release: Release) -> str:
    """Return the address of the page of a release."""
    return address("release", release.workspace_id, str(release.pk))


def of_publishing_together() -> str:
    """Return the address that publishes chosen resources together."""
    return reverse("studio:publish_together")


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the releases that the caller may read, by position and ordinal of the events; one query."""
    ids = {
        (event.position, event.ordinal): UUID(event.detail["releaseId"])
        for event in events
        if event.detail.get("releaseId")
    }
    if not ids:
        return {}
    rows = Release.objects.readable_by(caller).in_bulk(set(ids.values()))
    return {
        key: NamedInEvent(title=rows[pk].title, address=of_release(rows[pk]))
        for key, pk in ids.items()
        if pk in rows
    }
