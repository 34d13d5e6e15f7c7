"""Days and times in words, in the language and the time zone of the page.

Every day is named with its weekday, and with its year unless that is the current one. UTC is named, because
clocks do not show it. Other zones are those of the person's own clock, and the title of a time names them.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.formats import date_format, number_format, time_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from versioning.domain.zones import UTC

# Translators: a date, as PHP's date() formats it
_DAY_OF_YEAR: Final = gettext_lazy("j F Y")
# Translators: a date of this year, as PHP's date() formats it
_DAY: Final = gettext_lazy("j F")
# Translators: a date with its weekday, as PHP's date() formats it
_WEEKDAY_OF_YEAR: Final = gettext_lazy("D j F Y")
# Translators: a date of this year with its weekday, as PHP's date() formats it
_WEEKDAY: Final = gettext_lazy("D j F")
# Translators: the day on which a range of days within a month begins, as PHP's date() formats it
_DAY_OF_MONTH: Final = gettext_lazy("j")


def local(moment: datetime.datetime) -> datetime.datetime:
    """Return a time in the zone of the page, or in UTC if it is out of range there."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment.astimezone(ZoneInfo(UTC))


def current_zone() -> str:
    """Return the name of the zone of the page: `Europe/Berlin`."""
    return str(timezone.get_current_timezone())


def zone_note() -> str:
    """Return the name of the page's zone if times must name it, as for UTC; empty for any other."""
    return UTC if current_zone() == UTC else ""


def day_of(moment: datetime.datetime) -> datetime.date:
    return local(moment).date()


def day_in_words(day: datetime.date) -> str:
    """Return a day: `Sun 3 May`, `Sat 3 May 2025`."""
    is_current = day.year == timezone.localdate().year
    return _formatted_day(day, str(_WEEKDAY if is_current else _WEEKDAY_OF_YEAR), get_language())


def moment_in_words(moment: datetime.datetime) -> str:
    """Return a day and a time in the zone of the page: `Sun 3 May, 14:02`."""
    at = local(moment)
    words = _day_and_time(at)
    return f"{words} {UTC}" if str(at.tzinfo) == UTC else words


def time_in_words(moment: datetime.datetime) -> str:
    """Return the time of day in the zone of the page: `14:02`."""
    return _time(local(moment))


def exactly(moment: datetime.datetime) -> str:
    """Return a time in the zone of the page and in UTC: `Sun 3 May, 14:02 Europe/Berlin (12:02 UTC)`."""
    at, in_utc = local(moment), moment.astimezone(datetime.UTC)
    zone, words = str(at.tzinfo), _day_and_time(at)
    if zone == UTC:
        return f"{words} {UTC}"
    other = _time(in_utc) if in_utc.date() == at.date() else _day_and_time(in_utc)
    return f"{words} {zone} ({other} {UTC})"


def time_element(moment: datetime.datetime, words: str) -> SafeString:
    """Return a time as HTML: the words, with the exact time in the title."""
    iso = moment.astimezone(datetime.UTC).isoformat(timespec="seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, exactly(moment), words)


def range_in_words(first: datetime.date, last: datetime.date, today: datetime.date) -> str:
    """Return a range of days as shortly as possible: `Sun 3 May`, `3–9 May`, `28 April – 3 May 2025`."""  # noqa: RUF002
    if first == last:
        return day_in_words(last)
    end = date_format(last, str(_DAY if last.year == today.year else _DAY_OF_YEAR))
    if (first.year, first.month) == (last.year, last.month):
        return _("%(first)s–%(last)s") % {"first": date_format(first, str(_DAY_OF_MONTH)), "last": end}  # noqa: RUF001
    begin = date_format(first, str(_DAY if first.year == last.year else _DAY_OF_YEAR))
    return _("%(first)s – %(last)s") % {"first": begin, "last": end}  # noqa: RUF001


def _day_and_time(at: datetime.datetime) -> str:
    return _("%(day)s, %(time)s") % {"day": day_in_words(at.date()), "time": _time(at)}


def _time(at: datetime.datetime) -> str:
    # Translators: a time of day, as PHP's date() formats it
    return _formatted_time(at.time().replace(second=0, microsecond=0), _("H:i"), get_language())


# Formatting is slow, and lists have many times. The language determines the names of days and months.


@lru_cache(maxsize=1024)
def _formatted_day(day: datetime.date, pattern: str, _language: str | None) -> str:
    return date_format(day, pattern)


@lru_cache(maxsize=4096)
def _formatted_time(time: datetime.time, pattern: str, _language: str | None) -> str:
    return time_format(time, pattern)


_CENT: Final = Decimal("0.01")
_LEAST: Final = Decimal("0.000001")


def in_dollars(cost: Decimal | None) -> str:
    """Return an estimated cost as `$0.12`; below a cent with its first two digits, and empty for None."""
    if cost is None:
        return ""
    if 0 < cost < _LEAST:
        return _("under $%(amount)s") % {"amount": number_format(_LEAST)}
    digits = 2 if cost >= _CENT or not cost else 1 - cost.adjusted()
    amount = number_format(round(cost, digits), decimal_pos=digits, force_grouping=True)
    # Translators: a cost in US dollars
    return _("$%(amount)s") % {"amount": amount}
