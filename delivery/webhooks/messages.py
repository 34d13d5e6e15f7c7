"""What is sent: one event, the very object that `GET /events` has."""

from __future__ import annotations

from typing import Final

from django.utils import timezone

from delivery.webhooks.models import Webhook
from versioning.api.negotiation import CompactJSONRenderer
from versioning.api.schemas.events import EventAnswer
from versioning.domain.access import Caller
from versioning.models import Event

PING: Final = "webhook.ping"
"""The type of the event that a ping sends. It is not in the log, so it has no position."""


def body_of(event: Event) -> str:
    """Return the JSON text of an event."""
    return CompactJSONRenderer().render(EventAnswer.dump(event)).decode()


def ping_of(webhook: Webhook, by: Caller) -> Event:
    """Return an event that says nothing but that somebody tries a webhook."""
    return Event(
        type=PING,
        created_at=timezone.now(),
        workspace_id=webhook.workspace_id,
        actor=by.username or "",
        via=by.via.value,
        key_prefix=by.key_prefix or "",
        detail={"webhookId": str(webhook.pk)},
    )
