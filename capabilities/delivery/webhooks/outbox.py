"""Create deliveries from the entries of the log.

The log is the outbox. A change writes no row for webhooks: a fraction of a second later a worker creates one
delivery for each entry and webhook, and in the same transaction moves a cursor. So a change has no extra
cost, and a rollback leaves nothing behind: docs/decisions/0022.
"""

from __future__ import annotations

import logging
from typing import Final

from django.db import transaction
from django.db.models import Min
from django.db.models.functions import Now
from django.utils import timezone

from capabilities.delivery.webhooks.models import Delivery, OutboxCursor, Webhook
from versioning.api.schemas import CompactJSONRenderer, EventAnswer
from versioning.domain.access import Caller
from versioning.models import Event, events

PING: Final = "webhook.ping"
"""The type of the event that a ping sends. It is not in the log, so it has no position."""


def ping_of(webhook: Webhook, by: Caller) -> Event:
    """Return the event of a ping, which only tests the webhook."""
    return Event(
        type=PING,
        created_at=timezone.now(),
        workspace_id=webhook.workspace_id,
        actor=by.username or "",
        via=by.via.value,
        key_prefix=by.key_prefix or "",
        detail={"webhookId": str(webhook.pk)},
    )


logger = logging.getLogger(__name__)

SECONDS: Final = 0.25
"""How often each worker checks whether the log has grown."""
AT_ONCE: Final = 500
"""The maximum number of entries read in one transaction."""


def fill() -> None:
    """Create the deliveries of all unread entries; several workers may do so at once."""
    while (start := unread_after()) is not None and start != events.position():
        _fill_some()


def unread_after() -> int | None:
    """Return the position after which entries are unread; None if no webhook is enabled.

    Entries before the oldest enabled webhook are skipped. Without an enabled webhook the cursor does not
    move, so an installation without webhooks never writes for them.
    """
    oldest: int | None = Webhook.objects.filter(enabled=True).aggregate(after=Min("after"))["after"]
    if oldest is None:
        return None
    read = OutboxCursor.objects.values_list("position", flat=True).first()
    return max(oldest, read or 0)


@transaction.atomic
def _fill_some() -> None:
    OutboxCursor.objects.bulk_create([OutboxCursor()], ignore_conflicts=True)
    cursor = OutboxCursor.objects.select_for_update().get()
    start = unread_after()  # again: another worker may have moved the cursor, or the webhook is deleted
    newest = events.position()
    if start is None or start == newest:
        return
    found = []
    if start > newest:  # an earlier state of the log was restored, without that of the webhooks
        logger.warning("the log ends at %s, before what webhooks have read: they go on from there", newest)
        Webhook.objects.filter(after__gt=newest).update(after=newest)
    else:
        found = events.entries(after=start, limit=AT_ONCE)
        # After reading the entries, so that a webhook created in the meantime begins after all of them.
        webhooks = list(Webhook.objects.locked().filter(enabled=True))
        Delivery.objects.bulk_create(
            delivery_of(webhook, event) for event in found for webhook in webhooks if webhook.wants(event)
        )
    cursor.position = found[-1].position if found else newest  # the positions in between have no entries
    cursor.save(update_fields=["position"])


def delivery_of(webhook: Webhook, event: Event) -> Delivery:
    """Return a new delivery that is due now."""
    body = CompactJSONRenderer().render(EventAnswer.dump(event)).decode()
    trace = event.trace or ""
    return Delivery(webhook=webhook, event_id=event.uuid, body=body, trace=trace, due_at=Now())
