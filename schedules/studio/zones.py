"""Time zones: those that a form offers, the one that a person used last, and moments in words."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from schedules.models import Schedule
from schedules.times import known_zones
from studio.dates import short_day
from versioning.domain.errors import Invalid

UTC: Final = "UTC"
_REMEMBERED: Final = "schedules.zone"
"""Where the session keeps the zone that a person used last."""


@cache
def offered() -> tuple[str, ...]:
    """Return the zones that a form offers: UTC, and those of places."""
    places = (one for one in known_zones() if "/" in one and not one.startswith(("Etc/", "SystemV/")))
    return UTC, *sorted(places)


def remembered(request: HttpRequest) -> str:
    """Return the zone that the person used last; empty if there is none."""
    found = request.session.get(_REMEMBERED, "")
    return found if found in known_zones() else ""


def remember(request: HttpRequest, zone: str) -> None:
    """Store the zone that the person uses, for the next form and for the calendar."""
    if request.session.get(_REMEMBERED) != zone and zone in known_zones():
        request.session[_REMEMBERED] = zone


def zone_of(name: str) -> ZoneInfo:
    """Return a zone; raises `Invalid` for a name that none has."""
    if name not in known_zones():
        raise Invalid.field("timeZone", f"{name!r} is no time zone; one is Europe/Berlin")
    return ZoneInfo(name)


def in_words(moment: datetime.datetime, zone: str) -> str:
    """Return a moment with its zone: `24 December at 09:00 Europe/Berlin`."""
    local = moment.astimezone(ZoneInfo(zone))
    today = timezone.now().astimezone(ZoneInfo(zone)).date()
    return _("%(day)s at %(time)s %(zone)s") % {
        "day": short_day(local.date(), today),
        "time": f"{local:%H:%M}",
        "zone": zone,
    }


def when(schedule: Schedule) -> str:
    """Return when a schedule runs, in the zone in which it was named."""
    return in_words(schedule.run_at, zone_name(schedule))


def zone_name(schedule: Schedule) -> str:
    """Return the zone in which the time of a schedule was named; UTC if there is no such zone any more."""
    return schedule.time_zone if schedule.time_zone in known_zones() else UTC


def twice(schedule: Schedule) -> str:
    """Return which of two times it is, if the local time exists twice; otherwise empty."""
    if not schedule.is_ambiguous:
        return ""
    said = _("%(time)s exists twice that night, because the clocks are put back; this is the first.")
    return said % {"time": schedule.local_time[-5:]}
