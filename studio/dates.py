"""Days and times as people write them, in the language of the page."""

from __future__ import annotations

import datetime
from typing import Final

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

_DAY_OF_YEAR: Final = pgettext_lazy("format of a date", "j F Y")
_DAY: Final = pgettext_lazy("format of a date of this year", "j F")
_DAY_OF_MONTH: Final = pgettext_lazy("format of the day at which a range within a month begins", "j")


def day_of(moment: datetime.datetime) -> datetime.date:
    """Return the day of a moment."""
    return timezone.localtime(moment).date()


def day_in_words(day: datetime.date) -> str:
    """Return a day with its year: `3 May 2026`."""
    return date_format(day, str(_DAY_OF_YEAR))


def moment_in_words(moment: datetime.datetime) -> str:
    """Return a day and a time: `3 May 2026, 14:02`."""
    local = timezone.localtime(moment)
    return _("%(day)s, %(time)s") % {"day": day_in_words(local.date()), "time": time_in_words(moment)}


def time_in_words(moment: datetime.datetime) -> str:
    """Return the time of day: `14:02`."""
    return date_format(timezone.localtime(moment), pgettext("format of a time of day", "H:i"))


def range_in_words(first: datetime.date, last: datetime.date, today: datetime.date) -> str:
    """Return a range of days as shortly as possible: `3 May`, `3–9 May`, `28 April – 3 May 2025`."""  # noqa: RUF002
    end = date_format(last, str(_DAY if last.year == today.year else _DAY_OF_YEAR))
    if first == last:
        return end
    if (first.year, first.month) == (last.year, last.month):
        return _("%(first)s–%(last)s") % {"first": date_format(first, str(_DAY_OF_MONTH)), "last": end}  # noqa: RUF001
    begin = date_format(first, str(_DAY if first.year == last.year else _DAY_OF_YEAR))
    return _("%(first)s – %(last)s") % {"first": begin, "last": end}  # noqa: RUF001


def short_day(day: datetime.date, today: datetime.date) -> str:
    """Return a day, with its year unless that is this one: `3 May`."""
    return range_in_words(day, day, today)
