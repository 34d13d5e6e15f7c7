"""Times in requests and options."""

from __future__ import annotations

import datetime


def parse_moment(text: str, *, zone: datetime.tzinfo | None = None) -> datetime.datetime | None:
    """Return the time of an ISO 8601 text, in UTC.

    `zone` is that of a text without an offset. None for an invalid text, for one without an offset or a zone,
    and for a time close to the years 1 and 9999 that UTC cannot express.
    """
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            if zone is None:
                return None
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None
