"""When a delivery that has failed is tried again. Pure."""

from __future__ import annotations

import datetime
import random
from email.utils import parsedate_to_datetime
from typing import Final

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR

WAITS: Final = (0.0, 5.0, 300.0, 1800.0, *(hours * HOUR for hours in (2, 5, 10, 14, 20, 24)))
"""The seconds before each attempt, counted from the one before. Standard Webhooks proposes them."""
JITTER: Final = 0.2
"""By which share a wait is longer or shorter, so that what failed together is not tried again together."""
LONGEST_RETRY_AFTER: Final = DAY
GIVE_UP_AFTER: Final = datetime.timedelta(days=3)
"""How long a receiver may fail, without one success, before its webhook is disabled."""


def wait_before(step: int, *, retry_after: float = 0.0) -> float | None:
    """Return the seconds to wait when `step` scheduled attempts have been made; None if these were all.

    `retry_after`, in seconds, is what the receiver asks for. It only makes the wait longer.
    """
    if step >= len(WAITS):
        return None
    wait = WAITS[step] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  no secret
    return max(wait, min(retry_after, LONGEST_RETRY_AFTER))


def retry_after(header: str, now: datetime.datetime) -> float:
    """Return the seconds that a `Retry-After` asks for, as a number or a date; 0 if it says neither."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:12]), LONGEST_RETRY_AFTER))
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter of a year, an hour or a zone of twenty digits
        return 0.0
    if until.tzinfo is None:
        until = until.replace(tzinfo=datetime.UTC)
    return min(max((until - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER)
