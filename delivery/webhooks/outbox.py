"""From the log to deliveries: what no webhook has been given yet.

The log is the outbox. No change of anything writes a row for webhooks; the deliveries are made from the
entries a fraction of a second later, and a cursor that moves in the same transaction says how far. So a
change costs nothing more, a rollback leaves nothing, and each entry becomes one delivery for each webhook:
docs/decisions/0022.
"""

from __future__ import annotations

import logging
from typing import Final

from django.db import transaction
from django.db.models import Min
from django.db.models.functions import Now

from delivery.webhooks.messages import body_of
from delivery.webhooks.models import Delivery, OutboxCursor, Webhook
from versioning.models import Event, events

logger = logging.getLogger(__name__)

SECONDS: Final = 0.25
"""How often each worker looks whether the log has grown."""
AT_ONCE: Final = 500
"""How many entries are read in one transaction."""


def fill() -> None:
    """Make the deliveries of all entries that nobody has read yet; several workers may do so at once."""
    while (start := unread_after()) is not None and start != events.position():
        _fill_some()


def unread_after() -> int | None:
    """Return the position after which entries are still to be read; None if no webhook waits for any.

    Entries before the oldest enabled webhook need not be read. With no enabled webhook the cursor rests,
    so that an installation without webhooks never writes for them.
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
    start = unread_after()  # again: another worker may have read some, or somebody deleted the webhook
    newest = events.position()
    if start is None or start == newest:
        return
    if start > newest:
        _begin_anew(cursor, newest)
        return
    found = events.entries(after=start, limit=AT_ONCE)
    # After the entries: a webhook that is made meanwhile then only begins later than all of them.
    webhooks = list(Webhook.objects.locked().filter(enabled=True))
    Delivery.objects.bulk_create(
        _delivery(webhook, event) for event in found for webhook in webhooks if webhook.wants(event)
    )
    cursor.position = found[-1].position if found else newest  # a position without entries tells nothing
    cursor.save(update_fields=["position"])


def _begin_anew(cursor: OutboxCursor, newest: int) -> None:
    """Go on from the end of a log of which an earlier state was restored, without the state of webhooks."""
    logger.warning("the log ends at %s, before what webhooks have read: they go on from there", newest)
    Webhook.objects.filter(after__gt=newest).update(after=newest)
    cursor.position = newest
    cursor.save(update_fields=["position"])


def _delivery(webhook: Webhook, event: Event) -> Delivery:
    return Delivery(webhook=webhook, event_id=event.uuid, body=body_of(event), due_at=Now())
