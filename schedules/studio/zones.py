"""The times of schedules in words, with their time zones."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from schedules.models import Schedule
from studio.dates import current_zone, day_in_words, day_of, local, time_element, time_in_words
from versioning.domain.zones import UTC, known_zones


def when(schedule: Schedule) -> str:
    """Return when a schedule runs, in the zone of the page, which it names, and as it was given.

    For example `Fri 24 December at 09:00 Europe/Berlin (17:00 Asia/Tokyo)`.
    """
    at, given = schedule.run_at, as_given(schedule)
    words = _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(day_of(at)),
        "time": time_in_words(at),
        "zone": current_zone(),
    }
    return f"{words} ({given})" if given else words


def when_element(schedule: Schedule) -> SafeString:
    """Return `when` as HTML, with the time in UTC in the title."""
    return time_element(schedule.run_at, when(schedule))


def as_given(schedule: Schedule) -> str:
    """Return the local time that a schedule was made for; empty if it is that of the zone of the page.

    It has its day if that is another one on the page: `Sat 25 December at 02:00 Asia/Tokyo`.
    """
    if schedule.time_zone in {"", current_zone()}:
        return ""
    given = datetime.datetime.fromisoformat(schedule.local_time)
    if given.date() == local(schedule.run_at).date():
        return f"{given:%H:%M} {schedule.time_zone}"
    return _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(given.date()),
        "time": f"{given:%H:%M}",
        "zone": schedule.time_zone,
    }


def zone_to_change(schedule: Schedule) -> ZoneInfo:
    """Return the zone in which a schedule's time was given; UTC if there is none, or it no longer exists."""
    return ZoneInfo(schedule.time_zone if schedule.time_zone in known_zones() else UTC)


def twice(schedule: Schedule) -> str:
    """Return which of two times it is if the local time exists twice; otherwise empty."""
    if not schedule.is_ambiguous:
        return ""
    message = _("%(time)s exists twice that night, because the clocks are put back; this is the first.")
    return message % {"time": schedule.local_time[-5:]}
