"""What the application stores about people, to be erased with them."""

from __future__ import annotations

import json
import re
from typing import Final

from capabilities.delivery.webhooks.models import Delivery, DeliveryAttempt
from versioning.models.personal_data import PEOPLE_MEMBERS, Erasure, PersonalData, names_in

_MEMBERS: Final = "|".join(sorted(PEOPLE_MEMBERS))
_PEOPLE: Final = re.compile(
    rf'((?:"(?:{_MEMBERS})"|"actor"\s*:\s*\{{\s*"id")\s*:\s*)("(?:[^"\\]|\\.)*"|\[[^\[\]{{}}]*)'
)
"""A member of an event that holds people, and its value; the event may be cut off."""


def _erase_in_deliveries(erasure: Erasure) -> int:
    """Replace the person in events that wait to be delivered, or can be replayed."""
    changed = 0
    for delivery in Delivery.objects.filter(erasure.found_in("body")).only("pk", "body").iterator():
        event = json.loads(delivery.body)
        event["actor"]["id"] = erasure.replaced(event["actor"]["id"])
        event["detail"] = erasure.replaced_in_detail(event["detail"])
        body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        if body != delivery.body:
            changed += Delivery.objects.filter(pk=delivery.pk).update(body=body)
    return changed


def _erase_in_responses(erasure: Erasure) -> int:
    """Replace the person in answers of receivers that repeat the event, or its beginning."""
    changed = 0
    for attempt in DeliveryAttempt.objects.filter(erasure.found_in("response")).only("pk", "response"):
        response = _PEOPLE.sub(lambda found: found[1] + erasure.replaced_within(found[2]), attempt.response)
        if response != attempt.response:
            changed += DeliveryAttempt.objects.filter(pk=attempt.pk).update(response=response)
    return changed


PERSONAL_DATA: Final = (
    names_in("delivery.Webhook", "created_by"),
    PersonalData(erase=_erase_in_deliveries),
    PersonalData(erase=_erase_in_responses),
)
