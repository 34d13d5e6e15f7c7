"""The calendar of a workspace, or of all: future and past publications."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from capabilities.releases.models import Release
from capabilities.schedules.models import Schedule, ScheduleState
from capabilities.schedules.studio.panels import (
    as_given,
    cancel_url,
    change_url,
    in_short,
    list_reasons,
    repeat_url,
    schedule_chip,
    twice,
)
from capabilities.schedules.verbs import Schedules
from studio.dates import current_zone, local
from studio.kinds import KINDS, KINDS_BY_SLUG
from studio.named import names_of
from studio.translation import translate
from studio.workspaces.views import ListingPage, address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event, WorkerHeartbeat
from versioning.models.querysets import within

MAX_ENTRIES: Final = 100
"""The maximum numbers of schedules and of events in a period."""
MOVES: Final = tuple(f"{kind.slug}.{verb}" for kind in KINDS for verb in ("published", "unpublished"))
RELEASED: Final = "release.published"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A past or future publication, or one that failed."""

    moment: datetime.datetime
    local_time: str = ""
    """The time as given, if its zone differs from the page's."""
    name: str
    address: str
    """The address of its subject; empty if the caller cannot see that."""
    workspace_name: str = ""
    """The name of its workspace, in a calendar of several."""
    description: str
    actor: str
    chip: tuple[str | Promise, str] | None = None
    notes: Sequence[str] = ()
    change_address: str = ""
    cancel_address: str = ""
    again_address: str = ""
    """The address to schedule it again, if it failed."""

    @property
    def day(self) -> datetime.date:
        """The day in the zone of the page."""
        return local(self.moment).date()


@dataclass(frozen=True, kw_only=True)
class Period:
    """The period that a calendar shows."""

    begin: datetime.datetime
    end: datetime.datetime
    """The end, exclusive."""


def list_entries(
    workspace_id: str | None,
    period: Period,
    caller: Caller,
    *,
    upcoming_only: bool = False,
    workspaces: Mapping[str, str] | None = None,
) -> tuple[list[Entry], bool]:
    """Return the entries of a period by time, and whether some were omitted.

    They are of one workspace, or of all whose drafts the caller may read; `workspaces` are the names to show.
    The number of queries does not depend on the number of entries.
    """
    rows = (
        Schedules.current().list(workspace_id=workspace_id, by=caller).exclude(state=ScheduleState.CANCELLED)
    )
    rows = rows.filter(run_at__gte=period.begin, run_at__lt=period.end)
    if upcoming_only:
        rows = rows.waiting()
    schedules = list(rows.order_by("run_at", "pk")[: MAX_ENTRIES + 1])
    events = [] if upcoming_only else _list_events(workspace_id, period, caller)
    is_cut = max(len(schedules), len(events)) > MAX_ENTRIES
    # A schedule's entry also shows the result.
    completed = [schedule for schedule in schedules if schedule.state == ScheduleState.DONE]
    ids = {str(schedule.pk) for schedule in completed}
    published = {str(schedule.release_id) for schedule in completed if schedule.release_id}
    events = [
        event
        for event in events[:MAX_ENTRIES]
        if event.detail.get("scheduleId") not in ids and _release_id(event) not in published
    ]
    schedules = Schedules.current().judge(schedules[:MAX_ENTRIES])
    release_ids = {*map(_release_id, events), *(str(schedule.release_id or "") for schedule in schedules)}
    releases = Release.objects.readable_by(caller).filter(pk__in=release_ids - {""})
    references = {(schedule.kind, schedule.resource_id) for schedule in schedules if schedule.kind}
    references |= {(event.resource_kind, event.resource_id) for event in events if event.resource_id}
    maker = _EntryMaker(
        caller=caller,
        workspaces=workspaces or {},
        names=names_of(references, caller),
        titles={str(pk): title for pk, title in releases.values_list("pk", "title")},
    )
    entries = [*map(maker.from_schedule, schedules), *map(maker.from_event, events)]
    return sorted(entries, key=lambda entry: entry.moment), is_cut


def _list_events(workspace_id: str | None, period: Period, caller: Caller) -> list[Event]:
    then = Q(created_at__gte=period.begin, created_at__lt=period.end, type__in=(*MOVES, RELEASED))
    # Resources that go live with a release are covered by the release's entry.
    alone = Q(detail__releaseId__isnull=True) | Q(type=RELEASED)
    # Events about public agents of other workspaces are also visible.
    scope = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    page = get_editor().event.page(
        before=2**62, limit=MAX_ENTRIES + 1, where=then & alone & scope, workspace_id=workspace_id, by=caller
    )
    return list(page.events)


def _release_id(event: Event) -> str:
    return str(event.detail.get("releaseId") or "")


@dataclass(frozen=True, kw_only=True)
class _EntryMaker:
    caller: Caller
    workspaces: Mapping[str, str]
    """The names of workspaces to show, by id."""
    names: Any
    """The names of resources, by kind and id."""
    titles: Any
    """The titles of releases, by id."""

    def from_schedule(self, schedule: Schedule) -> Entry:
        """Return a schedule as an entry."""
        may_publish = self.caller.may(Right.PUBLISH, schedule.workspace_id)
        may_change = may_publish and schedule.state == ScheduleState.SCHEDULED
        release_id, workspace_id = str(schedule.release_id or ""), schedule.workspace_id
        name, address = self._about(schedule.kind, schedule.resource_id, release_id, workspace_id)
        return Entry(
            moment=schedule.run_at,
            local_time=as_given(schedule),
            name=name,
            address=address,
            workspace_name=self.workspaces.get(workspace_id, ""),
            description=in_short(schedule),
            actor=schedule.author_name,
            chip=schedule_chip(schedule),
            notes=[
                note
                for note in (twice(schedule), translate(schedule.problem), *list_reasons(schedule))
                if note
            ],
            change_address=change_url(schedule) if may_change else "",
            cancel_address=cancel_url(schedule) if may_change else "",
            again_address=repeat_url(schedule) if may_publish else "",
        )

    def from_event(self, event: Event) -> Entry:
        """Return an event as an entry."""
        version = reference_to_id(event.version_id)
        if event.version_number is not None:
            version = _("version {number}").format(number=event.version_number)
        description = _("%(version)s went live") % {"version": version}
        if event.type == RELEASED:
            description = _("went live together")
        elif event.type.endswith(".unpublished"):
            description = _("was unpublished")
        subject = event.resource_kind, event.resource_id, _release_id(event)
        name, address = self._about(*subject, event.workspace_id)
        return Entry(
            moment=event.created_at,
            name=name,
            address=address,
            workspace_name=self.workspaces.get(event.workspace_id, ""),
            description=description,
            actor=event.actor,
        )

    def _about(self, kind: str, resource_id: str, release_id: str, workspace_id: str) -> tuple[str, str]:
        """Return the name of a subject, and its address."""
        if not kind:
            title = self.titles.get(release_id)
            if title is None:
                return _("A release"), ""
            return _("Release “%(title)s”") % {"title": title}, address("release", workspace_id, release_id)
        name = self.names.get((kind, resource_id))
        if name is None:
            return resource_id, ""
        return name, KINDS_BY_SLUG[kind].address("history", resource_id)


DAY: Final = datetime.timedelta(days=1)
WEEK: Final = datetime.timedelta(days=7)
LIST: Final = "list"
MAX_IN_CELL: Final = 5
"""The number of entries per day on the grid; the list shows all."""
MAX_IN_PAST: Final = 2
"""The number for a past day."""
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
        """The number of entries that the grid omits."""
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
        match = _MONTH.fullmatch(text)
        return cls(datetime.date(int(match[1]), int(match[2]), 1) if match else today.replace(day=1))

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
        # In the zone of the page, where a day can have 23 or 25 hours.
        zone = timezone.get_current_timezone()
        period = Period(
            begin=datetime.datetime.combine(first, datetime.time(), tzinfo=zone),
            end=datetime.datetime.combine(last + DAY, datetime.time(), tzinfo=zone),
        )
        listed_entries, more = list_entries(workspace_id, period, self.caller, workspaces=names)
        week = Period(begin=now, end=now + WEEK)
        soon, more_soon = list_entries(workspace_id, week, self.caller, upcoming_only=True, workspaces=names)
        entries: dict[datetime.date, list[Entry]] = {}
        for entry in listed_entries:
            entries.setdefault(entry.day, []).append(entry)
        days = [
            Day(
                date=day,
                entries=entries.get(day, []),
                is_today=day == now.date(),
                is_past=day < now.date(),
                is_outside=day.month != month.first.month,
                list_address=self._query(Month(day.replace(day=1)), as_list=True),
            )
            for day in (first + DAY * number for number in range((last - first).days + 1))
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
            has_any=bool(listed_entries),
            days=days,
            is_current=is_current,
            shown_days=[day for day in days if day.entries and not (is_current and day.is_past)],
            past_days=[day for day in reversed(days) if day.entries and is_current and day.is_past],
            activity_address=(
                address("activity", workspace_id) if workspace_id else reverse("studio:activity")
            ),
            weekdays=[
                # Translators: a weekday in short, as PHP's date() formats it
                date_format(datetime.date(2024, 1, number), _("D"))
                for number in range(1, 8)
            ],
            month_link=self._query(month, as_list=False),
            list_link=self._query(month, as_list=True),
            next_link=self._query(month.next, as_list=as_list),
            previous_link=self._query(month.previous, as_list=as_list),
            kept=_month_query(month, as_list=as_list),
            next=request.get_full_path(),
        )

    def _query(self, month: Month, *, as_list: bool) -> str:
        return f"?{self.query(**_month_query(month, as_list=as_list))}"


def _month_query(month: Month, *, as_list: bool) -> dict[str, str]:
    return {"month": month.word, **({"view": LIST} if as_list else {})}


urlpatterns = [path("calendar/", CalendarPage.as_view(), name="calendar")]
