"""The releases that events name, for activity pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from releases.models import Release
from releases.studio.links import of_release
from studio.extensions import NamedInEvent
from versioning.domain.access import Caller
from versioning.models import Event


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
