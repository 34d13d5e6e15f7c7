"""When versions were live, in words: `live 3–9 May`."""  # noqa: RUF002  an en dash, as in ranges

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.dates import day_in_words, day_of, exactly, range_in_words, time_in_words
from versioning.editor.live_periods import Period

MAX_PERIODS: Final = 2
"""How many periods of a version a page shows; further ones are counted."""


@dataclass(frozen=True, kw_only=True)
class LiveWords:
    """A period in words."""

    words: str
    exact: str
    """The same with times of day, also in UTC."""
    is_current: bool


def live_in_words(periods: Sequence[Period], today: datetime.date) -> list[LiveWords]:
    """Return the periods of a version, newest first."""
    newest = [
        LiveWords(
            words=_words(period, today, _days_of(periods, period)),
            exact=_exact(period),
            is_current=period.is_current,
        )
        for period in reversed(periods[-MAX_PERIODS:])
    ]
    more = len(periods) - len(newest)
    if more:
        words = ngettext("live %(count)s more time", "live %(count)s more times", more) % {"count": more}
        exact = "; ".join(_exact(period) for period in reversed(periods[:-MAX_PERIODS]))
        newest.append(LiveWords(words=words, exact=exact, is_current=False))
    return newest


def _days_of(periods: Sequence[Period], but: Period) -> set[datetime.date]:
    """Return the days on which other periods begin or end."""
    moments = [moment for period in periods if period is not but for moment in (period.since, period.until)]
    return {day_of(moment) for moment in moments if moment is not None}


def _words(period: Period, today: datetime.date, days: Collection[datetime.date]) -> str:
    """Return a period in words, with times of day where days alone would not tell it from others."""
    since, until = (moment and day_of(moment) for moment in (period.since, period.until))
    if since is not None and until is not None:
        if since == until and period.since is not None and period.until is not None:
            first, last = time_in_words(period.since), time_in_words(period.until)
            times = first if first == last else _("%(first)s–%(last)s") % {"first": first, "last": last}  # noqa: RUF001
            return _("live on %(day)s, %(times)s") % {"day": day_in_words(since), "times": times}
        return _("live %(days)s") % {"days": range_in_words(since, until, today)}
    if since is not None:
        day = {"day": day_in_words(since)}
        if period.is_current and period.since is not None and (since == today or since in days):
            return _("live since %(day)s, %(time)s") % {**day, "time": time_in_words(period.since)}
        return _("live since %(day)s") % day if period.is_current else _("live from %(day)s on") % day
    if until is not None:
        return _("live until %(day)s") % {"day": day_in_words(until)}
    return _("live now")


def _exact(period: Period) -> str:
    since, until = (moment and exactly(moment) for moment in (period.since, period.until))
    if since and until:
        return _("From %(since)s to %(until)s") % {"since": since, "until": until}
    if since:
        if period.is_current:
            return _("Since %(since)s") % {"since": since}
        return _("From %(since)s; until when is not known") % {"since": since}
    if until:
        return _("Until %(until)s; since when is not known") % {"until": until}
    return _("Since when is not known")
