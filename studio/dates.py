"""Days and times in words, in the language and the time zone of the page."""

from __future__ import annotations

import datetime
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.zones import local

# Translators: a date, as PHP's date() formats it
_DAY_OF_YEAR: Final = gettext_lazy("j F Y")
# Translators: a date of this year, as PHP's date() formats it
_DAY: Final = gettext_lazy("j F")
# Translators: the day on which a range of days within a month begins, as PHP's date() formats it
_DAY_OF_MONTH: Final = gettext_lazy("j")


def day_of(moment: datetime.datetime) -> datetime.date:
    """Return the day of a moment."""
    return local(moment).date()


def day_in_words(day: datetime.date) -> str:
    """Return a day with its year: `3 May 2026`."""
    return date_format(day, str(_DAY_OF_YEAR))


def moment_in_words(moment: datetime.datetime) -> str:
    """Return a day and a time in the zone of the page, which it names: `3 May 2026, 14:02 Europe/Berlin`."""
    # Translators: a day and a time, as PHP's date() formats them
    words = date_format(at := local(moment), _("j F Y, H:i"))
    return f"{words} {at.tzinfo}"


def time_in_words(moment: datetime.datetime) -> str:
    """Return the time of day in the zone of the page, which must be named nearby: `14:02`."""
    # Translators: a time of day, as PHP's date() formats it
    return date_format(local(moment), _("H:i"))


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
    """Return a day, with its year unless it is the current one: `3 May`."""
    return range_in_words(day, day, today)
