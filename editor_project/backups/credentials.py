"""Sessions and keys of a restored back-up, which may have been ended or revoked since it was made."""

from __future__ import annotations

import datetime

from django.contrib.sessions.models import Session
from django.utils import timezone

from versioning.domain.access import COMMAND
from versioning.models import ApiKey, events


def end_all_sessions() -> int:
    """Sign everyone out, and return how many sessions had not expired."""
    count = Session.objects.filter(expire_date__gt=timezone.now()).count()
    Session.objects.all().delete()
    return count


def revoke_keys(created_before: datetime.datetime) -> int:
    """Revoke the keys that are older, with entries in the log, and return how many there were."""
    keys = ApiKey.objects.filter(created_at__lt=created_before, revoked_at=None)
    with events.transaction():
        found = list(keys.select_related("owner").select_for_update(of=("self",)))
        for key in found:
            key.revoke(by=COMMAND)
    return len(found)
