"""Scheduling a version or a release; changing the time of a schedule, or cancelling it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.releases.models import Release
from capabilities.schedules.models import Schedule, ScheduleState
from capabilities.schedules.studio import panels
from capabilities.schedules.studio.calendar import CalendarPage
from capabilities.schedules.studio.panels import (
    cancel_url,
    in_short,
    list_warnings,
    read_plan,
    twice,
    when_element,
    will_happen,
    zone_to_change,
)
from capabilities.schedules.verbs import ScheduleEnded, Schedules, Times
from studio.dates import current_zone, day_in_words
from studio.error_pages import own_address
from studio.extensions import Extension, WorkspaceTab
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.named import resource_name
from studio.navigation import MainPage
from studio.pages import FormPage
from studio.publishing.views import obstacle_to
from studio.resources.base import VersionFormPage
from studio.translation import message_of, reference_to, title_of, translate, translate_at_field
from studio.views import safe_next_url, with_undo
from studio.workspaces.views import WorkspacePage
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.uuids import parse_uuid
from versioning.domain.zones import MAX_NAME, known_zones, offered_zones
from versioning.editor.timeline import Timeline
from versioning.models import WorkerHeartbeat

DAY: Final = datetime.timedelta(days=1)


class Preset(NamedTuple):
    """A local time with its name."""

    name: str
    local_time: str
    """In the format of the browser's control for a day and a time: `2026-12-24T09:00`."""
    day: str
    """Its day in words."""


def presets(today: datetime.date) -> list[Preset]:
    """Return tomorrow morning, and the morning of the next Monday unless that is tomorrow."""
    tomorrow, monday = today + DAY, today + DAY * (7 - today.weekday())
    names = {tomorrow: _("Tomorrow 9:00"), monday: _("Monday 9:00")}
    return [Preset(name, f"{day:%Y-%m-%d}T09:00", day_in_words(day)) for day, name in names.items()]


class LocalTimeInput(forms.TextInput):
    """The browser's own control for a day and a time."""

    input_type = "datetime-local"


class TimeForm(forms.Form):
    """A local time in a time zone."""

    local_time = forms.CharField(
        label=gettext_lazy("Day and time"), widget=LocalTimeInput(attrs={"class": "input", "autofocus": True})
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=MAX_NAME,
        widget=forms.TextInput(
            attrs={
                "class": "input",
                "dir": "auto",
                "list": "zones",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )

    @property
    def presets(self) -> list[Preset]:
        """The times that a click fills in, in the zone of the form."""
        zone_text = str(self["time_zone"].value() or "")
        zone = zone_text if zone_text in known_zones() else current_zone()
        return presets(datetime.datetime.now(ZoneInfo(zone)).date())

    @property
    def times(self) -> Times:
        """The time as typed."""
        return Times(
            local_time=self.cleaned_data["local_time"].strip(),
            time_zone=self.cleaned_data["time_zone"].strip(),
        )


class ForceForm(TimeForm):
    """A time, and whether other versions may be live by then."""

    force = forms.BooleanField(
        label=gettext_lazy("Publish even if someone publishes another version first"),
        required=False,
        help_text=gettext_lazy(
            "Otherwise a hotfix that someone publishes first stays live, and the schedule fails."
        ),
    )


class ScheduleForm(ForceForm):
    """A time and, optionally, an end and the version that is live afterwards."""

    until = forms.CharField(
        label=gettext_lazy("Until"),
        required=False,
        widget=LocalTimeInput(attrs={"class": "input"}),
    )
    then = forms.ChoiceField(
        label=gettext_lazy("Then back to"), required=False, widget=forms.Select(attrs={"class": "input"})
    )

    def __init__(self, *args: Any, versions: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["then"].choices = versions  # type: ignore[attr-defined]

    @property
    def ending(self) -> dict[str, str]:
        """The arguments of the end, if there is one."""
        until = self.cleaned_data["until"].strip()
        if not until:
            return {}
        return {"until": until, **({"then": then} if (then := self.cleaned_data["then"]) else {})}


OFFERED: Final = 50
"""The maximum number of versions to go back to in a form, newest first."""


class TimePage(FormPage):
    """A page with a form for a time."""

    error_fields = {
        "localTime": "local_time",
        "runAt": "local_time",
        "timeZone": "time_zone",
        "then.versionId": "then",
    }

    def initial(self) -> dict[str, Any]:
        """Return the values in the address, and the time zone of the page."""
        query = self.request.GET
        zone = query.get("time_zone") or current_zone()
        return {"time_zone": zone, "force": query.get("force") == "on"}

    def context(self) -> dict[str, Any]:
        return {"zones": offered_zones(), "silence": WorkerHeartbeat.objects.silence()}

    def confirm(self, schedule: Schedule, address: str) -> HttpResponse:
        """Redirect with a message about a new schedule; if it would fail, a warning that says why."""
        Schedules.current().judge([schedule])
        sentences = [will_happen(schedule), twice(schedule), *list_warnings(schedule)]
        message = format_html_join(" ", "{}", ([sentence] for sentence in sentences if sentence))
        return self.go(address, message, level=messages.WARNING if schedule.problems else messages.SUCCESS)


class SchedulePage(TimePage, VersionFormPage):
    """The form for the time to publish a version and, optionally, the end."""

    template = "schedules/ask.html"
    nothing_stored = Message("Nothing has been saved yet, so there is nothing to publish.")

    @property
    def title(self) -> str:
        return _("Schedule %(version)s") % {"version": reference_to(self.version)}

    def form(self, data: Any = None) -> ScheduleForm:
        self.require(Right.PUBLISH)
        return ScheduleForm(data, initial=self.initial(), versions=self._choices)

    @cached_property
    def _choices(self) -> list[tuple[str, str]]:
        """The versions to go back to, as `Version 3: Say who will answer`: the live one, then the newest."""
        live = self.stored_resource.active
        history = self.collection.versions(self.resource_id, by=self.caller)
        entries: Any = Timeline(self.stored_resource, history.versions)[:OFFERED]
        history_versions = [
            entry.version for entry in entries if entry.version.version_id != self.stored_resource.active_id
        ]
        choices = []
        for version in [*([live] if live else []), *history_versions]:
            message = message_of(version)
            title = title_of(version)
            choices.append((version.version_id, f"{title}: {message}" if message else title))
        return choices

    def save(self, form: ScheduleForm) -> HttpResponse:
        """Schedule it, expecting the version that is currently forecast to be live."""
        if self.request.POST.get("live", "") != (self.stored_resource.active_id or ""):
            return self.show(form, status=409, is_changed=True)
        run_at = form.times.begin().run_at
        expects = read_plan(self.stored_resource).live_at(run_at, self.stored_resource.active_id)
        if expects == self.version.version_id and not form.ending:
            raise Invalid.field("", "This version is live at that time already.", code="unchanged")
        schedule = Schedules.current().create(
            self.kind.slug,
            self.resource_id,
            form.times,
            version_id=self.version.version_id,
            expects=expects,
            force=form.cleaned_data["force"],
            by=self.caller,
            **form.ending,
        )
        return self.confirm(schedule, self.address("history"))

    def show(self, form: ScheduleForm, *, status: int = 200, **context: Any) -> HttpResponse:
        version, live, run_at = self.version, self.stored_resource.active, None
        if form.is_valid():
            with suppress(Invalid):
                run_at = form.times.begin().run_at
        return super().show(
            form,
            status=status,
            version=version,
            live=live,
            live_title=title_of(live) if live else "",
            is_live=version.version_id == self.stored_resource.active_id,
            obstacle=obstacle_to(self.stored_resource, version, self.caller, at=run_at),
            panels=self.panels("schedule", version),
            back_address=self.address("publish") + f"?version={version.version_id}",
            **context,
        )


class ReleaseSchedulePage(TimePage, WorkspacePage):
    """When to publish a release."""

    tab = "releases"
    right = Right.PUBLISH
    form_class = ForceForm
    template = "schedules/ask_release.html"

    @cached_property
    def release(self) -> Release:
        """The release; raises `NotFound` if it belongs to another workspace."""
        release_id = parse_uuid(self.kwargs["release"])
        release = Release.objects.filter(pk=release_id, workspace=self.workspace).first()
        if release is None:
            raise NotFound
        return release

    @property
    def release_address(self) -> str:
        return self.address("release", str(self.release.pk))

    @property
    def title(self) -> str:
        return _("Schedule the release “%(title)s”") % {"title": self.release.title}

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.return_if_scheduled() or super().get(request, **ids)

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.return_if_scheduled() or super().post(request, **ids)

    def return_if_scheduled(self) -> HttpResponse | None:
        """Return to a release that is scheduled already: a second schedule could only fail."""
        waiting = Schedule.objects.waiting()
        if not waiting.filter(release_id=self.release.pk, workspace=self.workspace).exists():
            return None
        message = _("This release is already scheduled. Change the time of that schedule, or cancel it.")
        return self.go(self.release_address, message, level=messages.ERROR)

    def save(self, form: ForceForm) -> HttpResponse:
        try:
            schedule = Schedules.current().create_for_release(
                str(self.release.pk), form.times, force=form.cleaned_data["force"], by=self.caller
            )
        except Conflict as error:  # it was just published
            form.add_error(None, translate_at_field(error.message))
            return self.show(form, status=409)
        return self.confirm(schedule, self.release_address)

    def context(self) -> dict[str, Any]:
        return {**super().context(), "back_address": self.release_address}


class OneSchedulePage(WorkspacePage):
    """A page about one schedule of the workspace."""

    tab = "calendar"
    right = Right.PUBLISH

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule; raises `NotFound` for another workspace, even if the caller may read that."""
        schedule = Schedules.current().find(self.kwargs["schedule"], by=self.caller)
        if schedule.workspace_id != self.workspace.pk:
            raise NotFound
        return schedule

    @property
    def done_address(self) -> str:
        """The previous page of the person, or the calendar."""
        return safe_next_url(self.request, self.address("calendar"))

    def report_too_late(self) -> HttpResponse:
        """Redirect with the message that the schedule has ended."""
        self.schedule.refresh_from_db()
        message = _("It is too late: this schedule is already %(state)s.") % {
            "state": self.schedule.get_state_display().lower()
        }
        return self.go(self.done_address, message, level=messages.WARNING)


class ChangePage(TimePage, OneSchedulePage):
    """Changes the time of a schedule."""

    form_class = TimeForm
    template = "schedules/change.html"
    title = gettext_lazy("Reschedule")

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        if self.schedule.state != ScheduleState.SCHEDULED:
            return self.report_too_late()
        return super().get(request, **ids)

    def initial(self) -> dict[str, Any]:
        zone = zone_to_change(self.schedule)
        local = self.schedule.run_at.astimezone(zone)
        return {"local_time": f"{local:%Y-%m-%dT%H:%M}", "time_zone": zone.key}

    def save(self, form: TimeForm) -> HttpResponse:
        """Change the time, and go back."""
        try:
            schedule = Schedules.current().change(self.kwargs["schedule"], form.times, by=self.caller)
        except ScheduleEnded:
            return self.report_too_late()
        message = format_html(_("It is now scheduled for {when}."), when=when_element(schedule))
        return self.go(self.done_address, format_html("{} {}", message, twice(schedule)))

    def context(self) -> dict[str, Any]:
        schedule = self.schedule
        return {
            **super().context(),
            "schedule": schedule,
            "about": resource_name(schedule.kind, schedule.resource_id) if schedule.kind else _("A release"),
            "in_short": in_short(schedule),
            "warnings": list_warnings(Schedules.current().judge([schedule])[0]),
            "kind": KINDS_BY_SLUG.get(schedule.kind),
            "next": (self.request.POST or self.request.GET).get("next", ""),
            "back_address": self.address("calendar"),
        }


class CancelPage(OneSchedulePage):
    """Cancels a schedule, and with a beginning its end; the record stays."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, schedule: str) -> HttpResponse:
        """Cancel it, or schedule it again, and go back."""
        schedule_id = str(self.schedule.pk)
        if "undo" in request.POST:
            back = own_address(request.POST["undo"], self.address("calendar"))
            try:
                repeated = Schedules.current().repeat(schedule_id, by=self.caller)
            except (Invalid, Conflict) as error:
                problem = error.issues[0].message if isinstance(error, Invalid) else error.message
                message = _("Not scheduled again: %(problem)s") % {"problem": translate(problem)}
                return self.go(back, message, level=messages.ERROR)
            return self.go(back, format_html(_("Scheduled again for {when}."), when=when_element(repeated)))
        try:
            Schedules.current().cancel(schedule_id, by=self.caller)
        except ScheduleEnded:
            return self.report_too_late()
        message = _("Schedule cancelled. Nothing live has changed.")
        return self.go(self.done_address, with_undo(message, cancel_url(self.schedule), self.done_address))


urlpatterns = [
    path("calendar/", CalendarPage.as_view(), name="versioning_workspace_calendar"),
    path("schedules/<str:schedule>/", ChangePage.as_view(), name="versioning_workspace_schedule"),
    path(
        "schedules/<str:schedule>/cancel/", CancelPage.as_view(), name="versioning_workspace_schedule_cancel"
    ),
    path(
        "releases/<str:release>/schedule/",
        ReleaseSchedulePage.as_view(),
        name="versioning_workspace_schedule_release",
    ),
]


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the address of the form below that of a resource."""
    yield path("<str:resource>/schedule/", SchedulePage.as_view(kind=kind), name=kind.url_name("schedule"))


STUDIO: Final = Extension(
    urls="capabilities.schedules.studio.pages",
    own_urls="capabilities.schedules.studio.calendar",
    resource_urls="capabilities.schedules.studio.pages.resource_urls",
    pages=[
        MainPage(
            page="calendar",
            title=gettext_lazy("Calendar"),
            place=30,
            sections=["calendar/", "schedules/"],
            waiting=panels.count_for,
        )
    ],
    tabs=[WorkspaceTab(page="calendar", title=gettext_lazy("Calendar"), right=Right.READ_DRAFTS, place=30)],
    panels=panels.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=panels.WITH_STRIP,
    concerns=panels.concerns,
    buttons=[panels.BUTTON],
    subject_panels=panels.subject_panels,
    list_notes=panels.list_notes,
    tasks=panels.tasks,
    event_address=panels.find_event_address,
)
