"""The calendar of a workspace, or of all: what will go live, and what did."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from capabilities.schedules.studio.entries import Entry, Period, by_day, days_between, entries_of
from studio.dates import current_zone
from studio.workspaces.views import ListingPage, address
from versioning.models import WorkerHeartbeat

WEEK: Final = datetime.timedelta(days=7)
LIST: Final = "list"
MAX_IN_CELL: Final = 5
"""How many entries the grid shows per day; the list shows all."""
MAX_IN_PAST: Final = 2
"""How many of a day that is over."""
_MONTH: Final = re.compile(r"(20\d{2})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, kw_only=True)
class Day:
    """A day of the calendar with its entries."""

    date: datetime.date
    entries: list[Entry] = field(default_factory=list)
    is_today: bool = False
    is_past: bool = False
    is_outside: bool = False
    """Whether it belongs to the previous or next month."""
    list_address: str = ""
    """The address of the list of its month."""

    @property
    def first_entries(self) -> list[Entry]:
        """The entries on the grid."""
        return self.entries[: MAX_IN_PAST if self.is_past else MAX_IN_CELL]

    @property
    def others(self) -> int:
        """How many entries the grid leaves out."""
        return len(self.entries) - len(self.first_entries)

    @property
    def anchor(self) -> str:
        """The id of the day in the list."""
        return f"day-{self.date:%Y-%m-%d}"

    @property
    def title(self) -> str:
        """The day in words, with its weekday."""
        # Translators: a day with its weekday, as PHP's date() formats it
        return date_format(self.date, _("l, j F Y"))


@dataclass(frozen=True)
class Month:
    """A month."""

    first: datetime.date

    @classmethod
    def read(cls, text: str, today: datetime.date) -> Month:
        """Return the month in an address, such as `2026-12`; by default the current one."""
        found = _MONTH.fullmatch(text)
        return cls(datetime.date(int(found[1]), int(found[2]), 1) if found else today.replace(day=1))

    @property
    def word(self) -> str:
        """Its form in an address."""
        return f"{self.first:%Y-%m}"

    @property
    def title(self) -> str:
        """Its name, with the year."""
        # Translators: a month, as PHP's date() formats it
        return date_format(self.first, _("F Y"))

    @property
    def last(self) -> datetime.date:
        """Its last day."""
        return self.next.first - datetime.timedelta(days=1)

    @property
    def next(self) -> Month:
        """The month after it."""
        return Month((self.first + datetime.timedelta(days=31)).replace(day=1))

    @property
    def previous(self) -> Month:
        """The month before it."""
        return Month((self.first - datetime.timedelta(days=1)).replace(day=1))

    @property
    def weeks(self) -> tuple[datetime.date, datetime.date]:
        """The first and the last day of its weeks, from Monday to Sunday."""
        begin = self.first - datetime.timedelta(days=self.first.weekday())
        return begin, self.last + datetime.timedelta(days=6 - self.last.weekday())


class CalendarPage(ListingPage):
    """The next seven days, and a month as a grid or a list; on a phone both are lists."""

    tab = "calendar"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show the calendar; the page updates itself."""
        workspace_id, names = self.listed_id, self.shown_names
        self.listen(self.scope)
        now = timezone.localtime()
        month = Month.read(request.GET.get("month", ""), now.date())
        as_list = request.GET.get("view") == LIST
        first, last = (month.first, month.last) if as_list else month.weeks
        found, more = entries_of(workspace_id, _period(first, last), self.caller, workspaces=names)
        week = Period(begin=now, end=now + WEEK)
        soon, more_soon = entries_of(workspace_id, week, self.caller, upcoming_only=True, workspaces=names)
        entries = by_day(found)
        days = [
            Day(
                date=day,
                entries=entries.get(day, []),
                is_today=day == now.date(),
                is_past=day < now.date(),
                is_outside=day.month != month.first.month,
                list_address=self._query(Month(day.replace(day=1)), as_list=True),
            )
            for day in days_between(first, last)
        ]
        is_current = month == Month.read("", now.date())
        return self.page(
            "schedules/calendar.html",
            title=_("Calendar"),
            zone=current_zone(),
            silence=WorkerHeartbeat.objects.silence(),
            soon=soon,
            more_soon=more_soon,
            month=month,
            as_list=as_list,
            more=more,
            has_any=bool(found),
            days=days,
            is_current=is_current,
            shown_days=[day for day in days if day.entries and not (is_current and day.is_past)],
            past_days=[day for day in reversed(days) if day.entries and is_current and day.is_past],
            activity_address=self._activity(workspace_id),
            weekdays=[
                # Translators: a weekday in short, as PHP's date() formats it
                date_format(datetime.date(2024, 1, number), _("D"))
                for number in range(1, 8)
            ],
            month_link=self._query(month, as_list=False),
            list_link=self._query(month, as_list=True),
            next_link=self._query(month.next, as_list=as_list),
            previous_link=self._query(month.previous, as_list=as_list),
            kept=_query_of(month, as_list=as_list),
            next=request.get_full_path(),
        )

    def _activity(self, workspace_id: str | None) -> str:
        return address("activity", workspace_id) if workspace_id else reverse("studio:activity")

    def _query(self, month: Month, *, as_list: bool) -> str:
        return f"?{self.query(**_query_of(month, as_list=as_list))}"


def _query_of(month: Month, *, as_list: bool) -> dict[str, str]:
    return {"month": month.word, **({"view": LIST} if as_list else {})}


def _period(first: datetime.date, last: datetime.date) -> Period:
    """Return the period of some days in the zone of the page, where a day can have 23 or 25 hours."""
    begin, end = (
        datetime.datetime.combine(day, datetime.time(), tzinfo=timezone.get_current_timezone())
        for day in (first, last + datetime.timedelta(days=1))
    )
    return Period(begin=begin, end=end)
