"""Schedules in sentences and links, and their additions to other pages: strips, lists, For you."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from capabilities.releases.models import Release, ReleaseItem, ReleaseState
from capabilities.releases.studio.pages import problem_in_words
from capabilities.schedules.judging import (
    GONE,
    MAX_NAMED,
    NOT_ALLOWED,
    Forecast,
    SomethingElseIsLive,
    forecast,
    in_order,
)
from capabilities.schedules.models import (
    SHOWN_FOR,
    Action,
    Problem,
    Schedule,
    ScheduleQuerySet,
    ScheduleState,
)
from capabilities.schedules.verbs import Schedules
from studio import additions
from studio.dates import current_zone, day_in_words, day_of, local, time_element, time_in_words
from studio.extensions import VersionButton
from studio.kinds import KINDS_BY_SLUG, PROMPT_BLOCK, StudioKind
from studio.limits import shorten
from studio.named import Place, names_of, person, resource_name
from studio.panels import Panel, Slot, SubjectOnPage, VersionOnPage
from studio.publishing.views import reasons
from studio.tasks import SHOWN, Task, TaskGroup, Urgency
from studio.translation import translate
from studio.workspaces.views import address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import reference_to_id
from versioning.domain.zones import UTC, known_zones
from versioning.models import Event, VersionedResource, WorkerHeartbeat
from versioning.serving.grants import target_of
from versioning.serving.references import UnpublishedBlocks


def release_form_url(workspace_id: str, release_id: str, **filled_in: str) -> str:
    """Return the address of the form to schedule a release; some fields may be filled in."""
    query = f"?{urlencode(filled_in)}" if filled_in else ""
    return address("schedule_release", workspace_id, release_id) + query


def repeat_url(schedule: Schedule) -> str:
    """Return the address of the form to repeat a failed schedule; empty if there is none."""
    filled_in = {"time_zone": schedule.time_zone} if schedule.time_zone else {}
    if schedule.force:
        filled_in["force"] = "on"
    if schedule.state not in {ScheduleState.FAILED, ScheduleState.MISSED} or schedule.code == GONE:
        return ""
    if schedule.release_id is not None:
        return release_form_url(schedule.workspace_id, str(schedule.release_id), **filled_in)
    if schedule.action == Action.UNPUBLISH:
        return ""  # the studio has no form for this
    form = KINDS_BY_SLUG[schedule.kind].address("schedule", schedule.resource_id)
    return f"{form}?{urlencode({'version': schedule.version_id, **filled_in})}"


def change_url(schedule: Schedule) -> str:
    """Return the address of the form to change the time of a schedule."""
    return address("schedule", schedule.workspace_id, str(schedule.pk))


def cancel_url(schedule: Schedule) -> str:
    """Return the address that the cancel button sends to."""
    return address("schedule_cancel", schedule.workspace_id, str(schedule.pk))


def find_event_address(kind: StudioKind, event: Event) -> str:
    """Return the address of the calendar for an event about a schedule; empty for any other."""
    return address("calendar", event.workspace_id) if event.type.startswith("schedule.") else ""


def when(schedule: Schedule) -> str:
    """Return the time of a schedule in the zone of the page, which it names, and as given.

    For example `Fri 24 December at 09:00 Europe/Berlin (17:00 Asia/Tokyo)`.
    """
    at, local_time = schedule.run_at, as_given(schedule)
    words = _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(day_of(at)),
        "time": time_in_words(at),
        "zone": current_zone(),
    }
    return f"{words} ({local_time})" if local_time else words


def when_element(schedule: Schedule) -> SafeString:
    """Return `when` as HTML, with the time in UTC in the title."""
    return time_element(schedule.run_at, when(schedule))


def as_given(schedule: Schedule) -> str:
    """Return the given local time of a schedule; empty if its zone is that of the page.

    It has its day if that is another one on the page: `Sat 25 December at 02:00 Asia/Tokyo`.
    """
    if schedule.time_zone in {"", current_zone()}:
        return ""
    given_time = datetime.datetime.fromisoformat(schedule.local_time)
    if given_time.date() == local(schedule.run_at).date():
        return f"{given_time:%H:%M} {schedule.time_zone}"
    return _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(given_time.date()),
        "time": f"{given_time:%H:%M}",
        "zone": schedule.time_zone,
    }


def zone_to_change(schedule: Schedule) -> ZoneInfo:
    """Return the zone in which a schedule's time was given; UTC if there is none, or it no longer exists."""
    return ZoneInfo(schedule.time_zone if schedule.time_zone in known_zones() else UTC)


def twice(schedule: Schedule) -> str:
    """Return a note for a local time that exists twice; otherwise empty."""
    if not schedule.is_ambiguous:
        return ""
    message = _("%(time)s exists twice that night, because the clocks are put back; this is the first.")
    return message % {"time": schedule.local_time[-5:]}


CHIPS: Final[Mapping[str, str]] = {
    ScheduleState.SCHEDULED: "chip-changed",
    ScheduleState.DONE: "chip-published",
    ScheduleState.FAILED: "chip-danger",
    ScheduleState.MISSED: "chip-danger",
    ScheduleState.CANCELLED: "",
}
"""The classes of the chips of states."""
WILL_FAIL: Final = (pgettext_lazy("a schedule", "Will fail"), "chip-danger")
"""The chip of a waiting schedule that would currently fail."""


def schedule_chip(schedule: Schedule) -> tuple[str | Promise, str]:
    """Return the name of a schedule's state, and the class of its chip; waiting ones must be judged."""
    if schedule.problems:
        return WILL_FAIL
    return schedule.get_state_display(), CHIPS[schedule.state]


def version_within(schedule: Schedule) -> str:
    """Return the name of a schedule's version within a sentence: `version 12`."""
    if schedule.version_number is not None:
        return _("version {number}").format(number=schedule.version_number)
    return translate(reference_to_id(schedule.version_id))


def version_link(schedule: Schedule) -> SafeString:
    """Return the name of the version of a schedule, as a link to it."""
    if schedule.version_number is not None:
        name = _("Version %(number)s") % {"number": schedule.version_number}
    else:
        name = translate(reference_to_id(schedule.version_id))
    page = KINDS_BY_SLUG[schedule.kind].address("version", schedule.resource_id, schedule.version_id)
    return format_html('<a class="link" href="{}">{}</a>', page, name)


def will_happen(schedule: Schedule, title: str = "") -> SafeString:
    """Return the sentence about a pending schedule, on a page about its resource or its release.

    `title` is that of the release, on a page about one of the resources in it.
    """
    values: dict[str, str] = {
        "when": when_element(schedule),
        "who": person(schedule.author_name, Place.WITHIN),
    }
    if schedule.release_id is not None and title:
        sentence = _("It is part of the release “{title}”, which goes live on {when}, by {who}.")
        values["title"] = title
    elif schedule.release_id is not None:
        sentence = _("Scheduled for {when}, by {who}.")
    elif schedule.action == Action.UNPUBLISH:
        sentence = _("It is unpublished on {when}, by {who}.")
    else:
        sentence = _("{version} goes live on {when}, by {who}.")
        values["version"] = version_link(schedule)
    return format_html(sentence, **values)


def did_not_happen(schedule: Schedule) -> SafeString:
    """Return the sentence about a failed or missed schedule, on the page of its resource or release."""
    if schedule.release_id is not None:
        return format_html(_("It did not go live on {when}."), when=when_element(schedule))
    if schedule.action == Action.UNPUBLISH:
        return format_html(_("It was not unpublished on {when}."), when=when_element(schedule))
    return format_html(
        _("{version} did not go live on {when}."), version=version_link(schedule), when=when_element(schedule)
    )


def in_short(schedule: Schedule) -> str:
    """Return the action of a schedule, next to the name of its subject: `version 12 goes live`."""
    if schedule.release_id is None and schedule.action == Action.UNPUBLISH:
        return (
            _("is unpublished") if schedule.state == ScheduleState.SCHEDULED else _("was to be unpublished")
        )
    if schedule.release_id is not None:
        return (
            _("goes live together")
            if schedule.state == ScheduleState.SCHEDULED
            else _("was to go live together")
        )
    message = (
        _("%(version)s goes live")
        if schedule.state == ScheduleState.SCHEDULED
        else _("%(version)s was to go live")
    )
    return message % {"version": version_within(schedule)}


MAX_PLANNED: Final = 20


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A schedule on a resource, and its outcome if nothing else is published until then."""

    schedule: Schedule
    outcome: Forecast
    title: str = ""
    """The title of its release, if any."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The schedules of a resource."""

    planned: Sequence[Planned]
    """The waiting ones, by time."""
    failed: Sequence[Schedule]
    """Schedules of the resource itself that failed or were missed recently."""

    def live_at(self, moment: datetime.datetime, now: str | None) -> str | None:
        """Return the version that is expected to be live at a time, or None."""
        before = [planned for planned in self.planned if planned.schedule.run_at <= moment]
        return before[-1].outcome.live if before else now


def concerns(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return rows without which a resource has no plan: its schedules, and its places in releases."""
    schedules = Schedule.objects.filter(
        state__in=(ScheduleState.SCHEDULED, ScheduleState.FAILED, ScheduleState.MISSED), **about
    )
    return [schedules, ReleaseItem.objects.filter(release__state=ReleaseState.DRAFT, **about)]


def read_plan(resource: VersionedResource) -> Plan:
    """Return the schedules of a resource and of its releases."""
    target = target_of(resource, get_editor().code)
    items = ReleaseItem.objects.filter(
        kind=target.kind,
        resource_id=target.id,
        identity=target.identity,
        release__state=ReleaseState.DRAFT,
    )
    on_resource = Q(kind=target.kind, resource_id=target.id, identity=target.identity)
    lately = Q(
        state__in=(ScheduleState.FAILED, ScheduleState.MISSED), executed_at__gte=timezone.now() - SHOWN_FOR
    )
    with_others = Q(release_id__in=items.order_by().values("release"), state=ScheduleState.SCHEDULED)
    schedules = Schedule.objects.filter(
        on_resource & (Q(state=ScheduleState.SCHEDULED) | lately) | with_others
    )
    rows = list(schedules.order_by("run_at", "pk")[:MAX_PLANNED])
    waiting = in_order(row for row in rows if row.state == ScheduleState.SCHEDULED)
    releases = [row.release_id for row in waiting if row.release_id is not None]
    with_releases = items.filter(release__in=releases).select_related("release") if releases else ()
    of_releases: Mapping[UUID, ReleaseItem] = {item.release_id: item for item in with_releases}
    outcomes = forecast(f"{target.kind}/{target.id}", resource.active_id, waiting, of_releases)
    return Plan(
        planned=[
            Planned(
                schedule=row,
                outcome=outcome,
                title=of_releases[row.release_id].release.title if row.release_id is not None else "",
            )
            for row, outcome in zip(waiting, outcomes, strict=True)
        ],
        failed=[
            row
            for row in rows
            if row.state != ScheduleState.SCHEDULED and (row.version_id or None) != resource.active_id
        ],
    )


MAX_SHOWN: Final = 5
"""The maximum number of problems shown for a schedule; the page of a release shows all."""


def list_warnings(schedule: Schedule) -> list[SafeString]:
    """Return the warning that a schedule will fail, with `list_reasons`; empty if it will not."""
    reasons = list_reasons(schedule)
    lead = format_html("<strong>{}</strong>", _("As things stand it will fail."))
    return [format_html("{} {}", lead, reasons[0]), *reasons[1:]] if reasons else []


def list_reasons(schedule: Schedule) -> list[SafeString]:
    """Return the problems of a schedule, a sentence each, next to the warning chip.

    Sentences about unexpected live versions contain the remedy; the others have a link. If there are too
    many, the rest is on the page of the release.
    """
    sentences = []
    for problem in schedule.problems[:MAX_SHOWN]:
        words = _problem_in_words(schedule, problem)
        if problem.item is not None and problem.item.resource is not None:
            item = problem.item.resource
            words = f"{resource_name(item.kind, item.resource_id)}: {words}"
        title, address = _find_remedy(schedule, problem)
        html = '{} <a class="link" href="{}">{}</a>' if address else "{}"
        sentences.append(format_html(html, words, address, title))
    more = len(schedule.problems) - len(sentences)
    if more:
        message = ngettext("And %(count)s more problem.", "And %(count)s more problems.", more)
        sentences.append(format_html("{}", message % {"count": more}))
    return sentences


def _problem_in_words(schedule: Schedule, problem: Problem) -> str:
    """Return a problem in the language of the page."""
    if problem.code == NOT_ALLOWED:
        author = person(schedule.author_name, Place.BEGINNING)
        return _("%(who)s may no longer publish here.") % {"who": author}
    if problem.code == SomethingElseIsLive.code:
        return _unexpected_in_words(schedule, has_nothing_to_do=problem.has_nothing_to_do)
    if isinstance(problem.error, UnpublishedBlocks):
        blocks = problem.error.blocks
        names = [resource_name(PROMPT_BLOCK.slug, block) for block in blocks[:MAX_NAMED]]
        message = ngettext(
            "The prompt block %(blocks)s is not published.",
            "The prompt blocks %(blocks)s are not published.",
            len(blocks),
        )
        return message % {"blocks": ", ".join(names) + (", …" if len(blocks) > MAX_NAMED else "")}
    if problem.item is not None:
        return " ".join(problem_in_words(problem.item))
    return " ".join(reasons(problem.error)) or translate(problem.message)


def _unexpected_in_words(schedule: Schedule, *, has_nothing_to_do: bool) -> str:
    if has_nothing_to_do and schedule.release_id is not None:
        return _("By then, a part of the release is already live. Cancel the schedule and schedule it again.")
    if has_nothing_to_do and schedule.action == Action.UNPUBLISH:
        return _("By then, nothing is live any more. You can cancel the schedule.")
    if has_nothing_to_do:
        version = version_within(schedule)
        return _("By then, %(version)s is already live. You can cancel the schedule.") % {"version": version}
    if schedule.release_id is None and schedule.expected_version_id is None:
        return _(
            "Nothing was to be live by then, but something is. Unpublish it first, or cancel this and "
            "schedule it again."
        )
    return _(
        "Another version will be live by then. Publish the earlier version "
        "again first, or cancel this and schedule it again."
    )


def _find_remedy(schedule: Schedule, problem: Problem) -> tuple[str, str]:
    """Return the text and the address of a link that can fix a problem, if there is one."""
    if problem.error is None and problem.item is None:
        return "", ""
    about = problem.item.resource if problem.item is not None else schedule
    if problem.error is not None and about is not None:
        way_out = additions.find_way_out(KINDS_BY_SLUG[about.kind], about.resource_id, problem.error)
        if way_out is not None:
            return way_out.title, way_out.address
    if schedule.release_id is not None:
        return _("To the release"), address("release", schedule.workspace_id, str(schedule.release_id))
    page = KINDS_BY_SLUG[schedule.kind].address("publish", schedule.resource_id)
    return _("What is missing"), f"{page}?{urlencode({'version': schedule.version_id})}"


STYLESHEETS = ["schedules/schedules.css"]
WITH_STRIP = frozenset({"edit", "since", "history", "version", "publish", "schedule", "review"})
BUTTON = VersionButton(
    page="schedule",
    template="schedules/button.html",
    right=Right.PUBLISH,
    on={"history", "version", "publish"},
    stylesheets=STYLESHEETS,
    with_panels=True,
)


@dataclass(frozen=True, kw_only=True)
class ScheduleLine:
    """A schedule in the form for strips."""

    schedule: Schedule
    sentence: SafeString
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """Why it would fail, or why it failed."""
    can_change: bool = False
    again_address: str = ""
    """The address to schedule it again, if it failed."""

    @property
    def change_address(self) -> str:
        """The address of the form to change its time."""
        return change_url(self.schedule)

    @property
    def cancel_address(self) -> str:
        """The address that the cancel button sends to."""
        return cancel_url(self.schedule)


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the strip."""
    plan = read_plan(shown.resource)
    if not plan.planned and not plan.failed:
        return
    may_publish = Right.PUBLISH in shown.rights
    Schedules.current().judge(planned.schedule for planned in plan.planned)
    waiting = [
        _line_of_waiting(planned.schedule, planned.title, may_publish=may_publish) for planned in plan.planned
    ]
    replaces = shown.page == "publish" and shown.version.version_id != shown.resource.active_id
    if replaces and waiting and not waiting[0].schedule.force and not waiting[0].schedule.problems:
        waiting[0] = replace(waiting[0], warnings=[_("If you publish now, this schedule fails.")])
    lines = [*(_line_of_failed(schedule, may_publish=may_publish) for schedule in plan.failed), *waiting]
    # An open edit page loads its parts from another address.
    is_open = shown.page in {"edit", "since"}
    page_url = shown.kind.address("change", shown.resource.pk) if is_open else shown.request.get_full_path()
    html = strip(lines, shown.resource.workspace_id, shown.request, page_url)
    yield Panel(slot=Slot.TOP, html=html, stylesheets=STYLESHEETS)


def subject_panels(shown: SubjectOnPage) -> Iterator[Panel]:
    """Yield the same panels on the page of a release; the button only while it is a draft."""
    if shown.subject != "release" or not shown.caller.may(Right.READ_DRAFTS, shown.workspace_id):
        return
    may_publish = shown.caller.may(Right.PUBLISH, shown.workspace_id)
    schedules = Schedule.objects.filter(release_id=shown.id, workspace=shown.workspace_id)
    schedules = schedules.order_by("run_at", "pk")
    waiting = Schedules.current().judge(schedules.waiting())
    # A failure is shown until the release is scheduled again.
    failed = schedules.failed_lately() if shown.is_open else ()
    lines = [
        *(_line_of_failed(schedule, may_publish=may_publish) for schedule in failed),
        *(_line_of_waiting(schedule, may_publish=may_publish) for schedule in waiting),
        *(_lines_of_items(shown, may_publish=may_publish) if shown.is_open else ()),
    ]
    if lines:
        html = strip(lines, shown.workspace_id, shown.request, shown.request.get_full_path())
        yield Panel(slot=Slot.TOP, html=html, stylesheets=STYLESHEETS)
    is_waiting = any(
        line.schedule.state == ScheduleState.SCHEDULED and line.schedule.release_id is not None
        for line in lines
    )
    if may_publish and shown.is_open and not is_waiting:
        context = {"address": release_form_url(shown.workspace_id, shown.id)}
        html = render_to_string("schedules/button.html", context)
        yield Panel(slot=Slot.ACTIONS, html=html, stylesheets=STYLESHEETS)


def _lines_of_items(shown: SubjectOnPage, *, may_publish: bool) -> list[ScheduleLine]:
    """Return the schedules of items of a draft release on their own, which fail once it is published."""
    schedules = (
        Schedule.objects.waiting().of_items(UUID(shown.id)).filter(force=False).order_by("run_at", "pk")
    )
    rows = list(schedules[:MAX_PLANNED])
    names = names_of([(row.kind, row.resource_id) for row in rows], shown.caller)
    return [
        ScheduleLine(
            schedule=row,
            sentence=format_html(
                "{}: {}", names.get((row.kind, row.resource_id), row.resource_id), will_happen(row)
            ),
            warnings=[_("If this release goes live first, this schedule fails.")],
            can_change=may_publish,
        )
        for row in rows
    ]


def _line_of_failed(schedule: Schedule, *, may_publish: bool) -> ScheduleLine:
    return ScheduleLine(
        schedule=schedule,
        sentence=did_not_happen(schedule),
        warnings=[translate(schedule.problem)],
        again_address=repeat_url(schedule) if may_publish else "",
    )


def _line_of_waiting(schedule: Schedule, title: str = "", *, may_publish: bool) -> ScheduleLine:
    notes = [
        twice(schedule),
        _("This ends what goes live at the time above.") if schedule.follows_id is not None else "",
        _("It happens even if another version is live by then.") if schedule.force else "",
    ]
    return ScheduleLine(
        schedule=schedule,
        sentence=will_happen(schedule, title),
        notes=[note for note in notes if note],
        warnings=list_warnings(schedule),
        can_change=may_publish,
    )


def strip(
    lines: Sequence[ScheduleLine], workspace_id: str, request: HttpRequest, next_url: str
) -> SafeString:
    """Return the strip, with a warning if no worker runs. `next_url` is the address of the page."""
    is_waiting = any(line.schedule.state == ScheduleState.SCHEDULED for line in lines)
    context: dict[str, Any] = {
        "lines": lines,
        "silence": WorkerHeartbeat.objects.silence() if is_waiting else None,
        "calendar_address": address("calendar", workspace_id),
        "next": next_url,
        "csrf_token": get_token(request),
    }
    return render_to_string("schedules/strip.html", context)


def list_notes(
    caller: Caller, kind: StudioKind, resources: Mapping[str, str]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the next schedule of each resource; two queries, for callers with access to drafts."""
    waiting = Schedules.current().list(by=caller).waiting()
    schedules = waiting.filter(kind=kind.slug, resource_id__in=list(resources))
    items = ReleaseItem.objects.filter(kind=kind.slug, resource_id__in=list(resources)).order_by()
    of_releases = waiting.of_releases().filter(release_id__in=items.values("release"))
    together = {schedule.release_id: schedule for schedule in of_releases.order_by("-run_at")}
    pairs = items.filter(release__in=together).values_list("resource_id", "release") if together else ()
    following: dict[str, Schedule] = {}
    for resource_id, schedule in (
        *((schedule.resource_id, schedule) for schedule in schedules),
        *((resource_id, together[release_id]) for resource_id, release_id in pairs),
    ):
        first = following.get(resource_id, schedule)
        if resources[resource_id] == schedule.workspace_id and schedule.run_at <= first.run_at:
            following[resource_id] = schedule
    notes = {}
    for resource_id, schedule in following.items():
        # A schedule that will fail is marked, as far as a worker knows.
        waits = ScheduleState.SCHEDULED.label, CHIPS[ScheduleState.SCHEDULED]
        word, chip = WILL_FAIL if schedule.known_problems else waits
        page = KINDS_BY_SLUG[kind.slug].address("history", resource_id)
        if schedule.release_id is not None:
            page = address("release", schedule.workspace_id, str(schedule.release_id))
        title = f"{in_short(schedule)} · {when(schedule)}"
        html = format_html('<a class="chip {}" href="{}" title="{}">{}</a>', chip, page, title, word)
        notes[resource_id] = [html]
    return notes


MAX_JUDGED: Final = 50
"""The number of the person's next schedules that are judged."""


def count_for(caller: Caller) -> int:
    """Return the number of the person's schedules that failed recently, or will fail as far as known."""
    # Every page shows it, and most people schedule nothing; then the other queries are skipped.
    if caller.user_id is None or not Schedule.objects.filter(author=caller.user_id).exists():
        return 0
    threatened = _own_schedules(caller).waiting().exclude(known_problems="")
    rows = list((threatened | _recent_failures(caller))[:MAX_JUDGED])
    failed = [schedule for schedule in rows if schedule.executed_at is not None]
    return len(rows) - len(failed) + len(_Subjects.of(failed, caller).pending_failures)


def tasks(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the person's schedules: first those that failed or will fail, then the others by time."""
    waiting = list(_own_schedules(caller).waiting().order_by("run_at", "pk")[:MAX_JUDGED])
    failed = _recent_failures(caller).order_by("-run_at", "pk")[:MAX_JUDGED]
    subjects = _Subjects.of([*failed, *waiting], caller)
    upcoming = Schedules.current().judge(waiting)
    schedules = [
        *subjects.pending_failures,
        *(schedule for schedule in upcoming if schedule.problems),
        *(schedule for schedule in upcoming if not schedule.problems),
    ]
    yield TaskGroup(
        key="schedules",
        urgency=Urgency.PLANNED,
        title=_("Your schedules"),
        tasks=[_task(schedule, subjects, caller) for schedule in schedules[:SHOWN]],
        count=len(schedules),
        address=reverse("studio:calendar"),
        stylesheets=STYLESHEETS,
    )


def _own_schedules(caller: Caller) -> ScheduleQuerySet:
    condition = Q(author=caller.user_id) if caller.user_id is not None else Q(pk=None)
    return Schedules.current().list(by=caller).filter(condition)


def _recent_failures(caller: Caller) -> ScheduleQuerySet:
    """Return the recent failures; without those whose subject has been scheduled again since."""
    same: Any = Q(
        release_id=None,
        kind=OuterRef("kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("identity"),
    ) | Q(release_id=OuterRef("release_id"))
    again = Schedule.objects.filter(same, created_at__gt=OuterRef("executed_at")).order_by()
    return _own_schedules(caller).failed_lately().filter(~Exists(again))


@dataclass(frozen=True, kw_only=True)
class _Subjects:
    """The subjects of schedules, as far as the caller may read them."""

    schedules: Sequence[Schedule]
    resources: Mapping[tuple[str, str], tuple[VersionedResource, str]]
    """Resources with their names, by kind and id."""
    releases: Mapping[UUID, Release]

    @classmethod
    def of(cls, schedules: Sequence[Schedule], caller: Caller) -> _Subjects:
        """Return the subjects of schedules."""
        resources = {}
        for slug, kind in KINDS_BY_SLUG.items():
            ids = sorted({schedule.resource_id for schedule in schedules if schedule.kind == slug})
            for resource, entry in kind.catalog(caller).some(ids) if ids else ():
                resources[slug, resource.pk] = resource, shorten(entry.name or resource.pk)
        release_ids = {schedule.release_id for schedule in schedules if schedule.release_id is not None}
        releases = Release.objects.readable_by(caller).in_bulk(release_ids) if release_ids else {}
        return cls(schedules=schedules, resources=resources, releases=releases)

    @property
    def pending_failures(self) -> list[Schedule]:
        """The failed schedules whose subject is still not as they were to make it."""
        pending_failures = []
        for schedule in self.schedules:
            if schedule.release_id is not None:
                release = self.releases.get(schedule.release_id)
                is_resolved = release is not None and release.state != ReleaseState.DRAFT
            else:
                resource, _name = self.resources.get((schedule.kind, schedule.resource_id), (None, ""))
                is_resolved = resource is not None and resource.active_id == (schedule.version_id or None)
            if schedule.executed_at is not None and not is_resolved:
                pending_failures.append(schedule)
        return pending_failures

    def describe(self, schedule: Schedule) -> tuple[str, str]:
        """Return the name and the address of a schedule's subject."""
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            if release is None:
                return _("A release"), ""
            return release.title, address("release", schedule.workspace_id, str(release.pk))
        if (schedule.kind, schedule.resource_id) not in self.resources:
            return schedule.resource_id, ""
        _resource, name = self.resources[schedule.kind, schedule.resource_id]
        return name, KINDS_BY_SLUG[schedule.kind].address("history", schedule.resource_id)


def _task(schedule: Schedule, subjects: _Subjects, caller: Caller) -> Task:
    name, address = subjects.describe(schedule)
    again = repeat_url(schedule)
    is_over = schedule.executed_at is not None
    may_publish = caller.may(Right.PUBLISH, schedule.workspace_id)
    action = (_("Schedule again…"), again) if is_over else (_("Reschedule…"), change_url(schedule))
    is_offered = may_publish and bool(again if is_over else schedule.problems)
    return Task(
        name=name,
        address=address,
        icon=KINDS_BY_SLUG[schedule.kind].icon if schedule.kind else "publish",
        chip=schedule_chip(schedule),
        about=f"{in_short(schedule)} · {when(schedule)}",
        notes=[note for note in (translate(schedule.problem), *list_reasons(schedule)) if note],
        workspace_id=schedule.workspace_id,
        action=action[0] if is_offered else "",
        action_address=action[1],
    )
