"""The time zone of the pages: one for all times of a page, which names it.

It is the last zone that the person used, for a schedule or in the calendar, and UTC by default.
"""

from __future__ import annotations

import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest
from django.utils import timezone

UTC: Final = "UTC"
_REMEMBERED: Final = "schedules.zone"
"""The session key for the last zone that a person used."""


def remembered(request: HttpRequest) -> str:
    """Return the last zone that the person used, or empty."""
    found = request.session.get(_REMEMBERED, "")
    return found if found and _is_zone(found) else ""


def remember(request: HttpRequest, zone: str) -> None:
    """Store the zone that the person uses; the rest of this request uses it, too."""
    if not _is_zone(zone):
        return
    if request.session.get(_REMEMBERED) != zone:
        request.session[_REMEMBERED] = zone
    timezone.activate(ZoneInfo(zone))


def zone_of_pages(request: HttpRequest) -> ZoneInfo:
    """Return the time zone in which pages show times to the person of the request."""
    return ZoneInfo(remembered(request) or UTC)


def local(moment: datetime.datetime) -> datetime.datetime:
    """Return a time in the zone of the page, or in UTC if it is out of range there."""
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
    except (ZoneInfoNotFoundError, ValueError, OSError):  # an unknown zone, or none
        return False
    return True
