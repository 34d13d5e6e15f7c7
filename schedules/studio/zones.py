"""Time zones of schedules: the choices of a form, and times in words."""

from __future__ import annotations

import datetime
from functools import cache
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _

from schedules.models import Schedule
from schedules.times import known_zones
from studio.dates import day_of, short_day
from studio.zones import UTC, current_zone
from versioning.domain.errors import Invalid, Message


@cache
def offered() -> tuple[str, ...]:
    """Return the zones that a form offers: UTC, and those of places."""
    places = (one for one in known_zones() if "/" in one and not one.startswith(("Etc/", "SystemV/")))
    return UTC, *sorted(places)


def zone_of(name: str) -> ZoneInfo:
    """Return a zone; raises `Invalid` for an unknown name."""
    if name not in known_zones():
        raise Invalid.field("timeZone", Message("{zone!r} is no time zone; one is Europe/Berlin", zone=name))
    return ZoneInfo(name)


def in_words(moment: datetime.datetime) -> str:
    """Return a time in the zone of the page, which it names: `24 December at 09:00 Europe/Berlin`."""
    return _("%(day)s at %(time)s %(zone)s") % {
        "day": short_day(day_of(moment), timezone.localdate()),
        "time": f"{timezone.localtime(moment):%H:%M}",
        "zone": current_zone(),
    }


def when(schedule: Schedule) -> str:
    """Return when a schedule runs."""
    return in_words(schedule.run_at)


def zone_name(schedule: Schedule) -> str:
    """Return the zone of a schedule's time; UTC if that zone no longer exists."""
    return schedule.time_zone if schedule.time_zone in known_zones() else UTC


def twice(schedule: Schedule) -> str:
    """Return which of two times it is if the local time exists twice; otherwise empty."""
    if not schedule.is_ambiguous:
        return ""
    message = _("%(time)s exists twice that night, because the clocks are put back; this is the first.")
    return message % {"time": schedule.local_time[-5:]}
