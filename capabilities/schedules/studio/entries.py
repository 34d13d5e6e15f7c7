"""The entries of a calendar: schedules, and what went live, as far as the caller may read it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from capabilities.releases.models import Release
from capabilities.schedules.models import Schedule, State
from capabilities.schedules.studio.links import of_again, of_cancelling, of_changing, of_release
from capabilities.schedules.studio.problems import judged, reasons_against
from capabilities.schedules.studio.wording import as_given, chip_of, in_short, twice, why
from capabilities.schedules.verbs import Schedules
from studio.dates import local
from studio.kinds import KINDS, KINDS_BY_SLUG
from studio.named import names_of
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event
from versioning.models.querysets import within

MAX_SHOWN: Final = 100
"""The maximum numbers of schedules and of events in a period."""
MOVES: Final = tuple(f"{kind.slug}.{what}" for kind in KINDS for what in ("published", "unpublished"))
RELEASED: Final = "release.published"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A past or future publication, or one that failed."""

    moment: datetime.datetime
    given: str = ""
    """The time as given, if that was in another zone than that of the page."""
    name: str
    address: str
    """The address of its subject; empty if that is not there for the caller."""
    workspace_name: str = ""
    """The name of its workspace, in a calendar of several."""
    what: str
    who: str
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


def entries_of(
    workspace_id: str | None,
    period: Period,
    caller: Caller,
    *,
    upcoming_only: bool = False,
    workspaces: Mapping[str, str] | None = None,
) -> tuple[list[Entry], bool]:
    """Return the entries of a period by time, and whether some were left out.

    They are of one workspace, or of all whose drafts the caller may read; `workspaces` are the names to show.
    The number of queries does not depend on the number of entries.
    """
    schedules = _schedules(workspace_id, period, caller, upcoming_only=upcoming_only)
    events = [] if upcoming_only else _events(workspace_id, period, caller)
    shown, told = judged(schedules[:MAX_SHOWN]), _without(events[:MAX_SHOWN], schedules)
    releases = {str(one.release_id or "") for one in shown} | {_release_of(one) for one in told}
    titles = {
        str(pk): title
        for pk, title in Release.objects.readable_by(caller)
        .filter(pk__in=releases - {""})
        .values_list("pk", "title")
    }
    references = {(one.kind, one.resource_id) for one in shown if one.kind}
    references |= {(one.resource_kind, one.resource_id) for one in told if one.resource_id}
    make = _Maker(
        caller=caller,
        workspaces=workspaces or {},
        names=names_of(references, caller),
        titles=titles,
    )
    found = [*map(make.of_schedule, shown), *map(make.of_event, told)]
    more = max(len(schedules), len(events)) > MAX_SHOWN
    return sorted(found, key=lambda one: one.moment), more


def _schedules(
    workspace_id: str | None, period: Period, caller: Caller, *, upcoming_only: bool
) -> list[Schedule]:
    found = Schedules.current().list(workspace_id=workspace_id, by=caller)
    found = found.filter(run_at__gte=period.begin, run_at__lt=period.end).exclude(state=State.CANCELLED)
    if upcoming_only:
        found = found.waiting()
    return list(found.order_by("run_at", "pk")[: MAX_SHOWN + 1])


def _events(workspace_id: str | None, period: Period, caller: Caller) -> list[Event]:
    then = Q(created_at__gte=period.begin, created_at__lt=period.end, type__in=(*MOVES, RELEASED))
    # Resources that go live with a release are covered by the release's entry.
    alone = Q(detail__releaseId__isnull=True) | Q(type=RELEASED)
    # Events about public agents of other workspaces are visible, too.
    own = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    page = get_editor().event.page(
        before=2**62, limit=MAX_SHOWN + 1, where=then & alone & own, workspace_id=workspace_id, by=caller
    )
    return list(page.events)


def _without(events: Iterable[Event], schedules: Iterable[Schedule]) -> list[Event]:
    """Leave out events that a schedule's entry already shows."""
    done = [schedule for schedule in schedules if schedule.state == State.DONE]
    ids, releases = {str(one.pk) for one in done}, {str(one.release_id) for one in done if one.release_id}
    return [
        event
        for event in events
        if event.detail.get("scheduleId") not in ids and _release_of(event) not in releases
    ]


def _release_of(event: Event) -> str:
    return str(event.detail.get("releaseId") or "")


@dataclass(frozen=True, kw_only=True)
class _Maker:
    """Creates entries."""

    caller: Caller
    workspaces: Mapping[str, str]
    """The names of workspaces to show, by id."""
    names: Any
    """The names of resources, by kind and id."""
    titles: Any
    """The titles of releases, by id."""

    def of_schedule(self, schedule: Schedule) -> Entry:
        """Return a schedule as an entry."""
        may_publish = self.caller.may(Right.PUBLISH, schedule.workspace_id)
        may_change = may_publish and schedule.state == State.SCHEDULED
        release_id, workspace_id = str(schedule.release_id or ""), schedule.workspace_id
        name, address = self._about(schedule.kind, schedule.resource_id, release_id, workspace_id)
        return Entry(
            moment=schedule.run_at,
            given=as_given(schedule),
            name=name,
            address=address,
            workspace_name=self.workspaces.get(workspace_id, ""),
            what=in_short(schedule),
            who=schedule.author_name,
            chip=chip_of(schedule),
            notes=[one for one in (twice(schedule), why(schedule), *reasons_against(schedule)) if one],
            change_address=of_changing(schedule) if may_change else "",
            cancel_address=of_cancelling(schedule) if may_change else "",
            again_address=of_again(schedule) if may_publish else "",
        )

    def of_event(self, event: Event) -> Entry:
        """Return an event as an entry."""
        subject = event.resource_kind, event.resource_id, _release_of(event)
        name, address = self._about(*subject, event.workspace_id)
        return Entry(
            moment=event.created_at,
            name=name,
            address=address,
            workspace_name=self.workspaces.get(event.workspace_id, ""),
            what=_what(event),
            who=event.actor,
        )

    def _about(self, kind: str, resource_id: str, release_id: str, workspace_id: str) -> tuple[str, str]:
        """Return the name of a subject, and its address."""
        if not kind:
            title = self.titles.get(release_id)
            if title is None:
                return _("A release"), ""
            return _("Release “%(title)s”") % {"title": title}, of_release(workspace_id, release_id)
        name = self.names.get((kind, resource_id))
        if name is None:
            return resource_id, ""
        return name, KINDS_BY_SLUG[kind].address("history", resource_id)


def _what(event: Event) -> str:
    if event.type == RELEASED:
        return _("went live together")
    if event.type.endswith(".unpublished"):
        return _("was unpublished")
    version = reference_to_id(event.version_id)
    if event.version_number is not None:
        version = _("version {number}").format(number=event.version_number)
    return _("%(version)s went live") % {"version": version}


def by_day(entries: Iterable[Entry]) -> dict[datetime.date, list[Entry]]:
    """Return entries by day, in their order."""
    found: dict[datetime.date, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.day, []).append(entry)
    return found


def days_between(first: datetime.date, last: datetime.date) -> Iterator[datetime.date]:
    """Yield every day from the first to the last."""
    for number in range((last - first).days + 1):
        yield first + datetime.timedelta(days=number)
