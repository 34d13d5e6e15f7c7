"""What the application stores about people, to be erased with them."""

from __future__ import annotations

import json
from typing import Final

from delivery.webhooks.models import Delivery
from versioning.models.personal_data import Erasure, PersonalData, names_in, sentences_in


def _erase_in_deliveries(erasure: Erasure) -> int:
    """Replace the person in events that wait to be delivered, or can be replayed."""
    changed = 0
    for delivery in Delivery.objects.filter(erasure.found_in("body")).only("pk", "body").iterator():
        event = json.loads(delivery.body)
        event |= {member: erasure.replaced(event[member]) for member in ("actor", "detail")}
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        if body != delivery.body:
            changed += Delivery.objects.filter(pk=delivery.pk).update(body=body)
    return changed


PERSONAL_DATA: Final = (
    names_in("delivery.Webhook", "created_by"),
    PersonalData(erase=_erase_in_deliveries),
    sentences_in("delivery.DeliveryAttempt", "response", "error"),
)
