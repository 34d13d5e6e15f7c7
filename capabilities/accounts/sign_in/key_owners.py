"""API keys do not outlive people: a key is refused when its owner has not signed in for too long."""

from __future__ import annotations

import datetime

from capabilities.accounts.sign_in.conf import key_days
from versioning.models import ApiKey, Membership


def active_until(key: ApiKey) -> datetime.datetime | None:
    """Return until when the owner of a key counts as active: so many days after the last sign-in.

    Who has never signed in counts from when the account was made. Service accounts cannot sign in: exempt.
    """
    days, owner = key_days(), key.owner
    if days is None or Membership.objects.filter(user=owner, is_service=True).exists():
        return None
    since: datetime.datetime | None = owner.last_login or getattr(owner, "date_joined", None)
    return None if since is None else since + datetime.timedelta(days=days)
