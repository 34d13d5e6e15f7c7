"""The webhooks that events name, for activity pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from delivery.studio.labels import title_of
from delivery.webhooks import administration
from studio.extensions import NamedInEvent
from studio.workspaces.base import address
from versioning.domain.access import Caller
from versioning.models import Event


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the webhooks that the caller administers, by position and ordinal of the events; one query."""
    ids = {
        (event.position, event.ordinal): UUID(event.detail["webhookId"])
        for event in events
        if event.detail.get("webhookId")
    }
    if not ids:
        return {}
    rows = administration.listed(by=caller).in_bulk(set(ids.values()))
    return {
        key: NamedInEvent(
            title=title_of(rows[pk]), address=address("webhook", rows[pk].workspace_id, str(pk))
        )
        for key, pk in ids.items()
        if pk in rows
    }
