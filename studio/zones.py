"""The time zone of the pages: one for all times of a page, which names it.

It is the one that the person used last, for a schedule or in the calendar, and UTC until then.
"""

from __future__ import annotations

import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest
from django.utils import timezone

UTC: Final = "UTC"
_REMEMBERED: Final = "schedules.zone"
"""Where the session keeps the zone that a person used last."""


def remembered(request: HttpRequest) -> str:
    """Return the zone that the person used last; empty if there is none."""
    found = request.session.get(_REMEMBERED, "")
    return found if found and _is_zone(found) else ""


def remember(request: HttpRequest, zone: str) -> None:
    """Store the zone that the person uses; the rest of this answer has it, too."""
    if not _is_zone(zone):
        return
    if request.session.get(_REMEMBERED) != zone:
        request.session[_REMEMBERED] = zone
    timezone.activate(ZoneInfo(zone))


def zone_of_pages(request: HttpRequest) -> ZoneInfo:
    """Return the zone in which the pages show times to the person who asks."""
    return ZoneInfo(remembered(request) or UTC)


def local(moment: datetime.datetime) -> datetime.datetime:
    """Return a moment in the zone of the page; in UTC where the calendar ends before it does there."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment.astimezone(ZoneInfo(UTC))


def current_zone() -> str:
    """Return the name of the zone of the page: `Europe/Berlin`."""
    return str(timezone.get_current_timezone())


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a name of no zone, or none at all
        return False
    return True
