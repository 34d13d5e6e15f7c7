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
from capabilities.schedules.models import Schedule, State
from capabilities.schedules.studio import panels
from capabilities.schedules.studio.calendar import CalendarPage
from capabilities.schedules.studio.panels import (
    cancel_url,
    in_short,
    list_warnings,
    read_plan,
    release_url,
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
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.translation import message_of, reference_to, title_of, translated
from studio.views import safe_next_url, with_undo
from studio.workspaces.views import WorkspacePage, add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.domain.zones import MAX_NAME, known_zones, offered_zones
from versioning.editor.timeline import Timeline
from versioning.models import VersionedResource, WorkerHeartbeat

DAY: Final = datetime.timedelta(days=1)


class Preset(NamedTuple):
    """A local time with its name."""

    name: str
    local_time: str
    """As the browser's control for a day and a time has it: `2026-12-24T09:00`."""
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
        typed = str(self["time_zone"].value() or "")
        zone = typed if typed in known_zones() else current_zone()
        return presets(datetime.datetime.now(ZoneInfo(zone)).date())

    @property
    def times(self) -> Times:
        """The time as typed."""
        return Times(
            local_time=self.cleaned_data["local_time"].strip(),
            time_zone=self.cleaned_data["time_zone"].strip(),
        )

    def add(self, error: Invalid) -> None:
        """Add the editor's errors to their fields."""
        add_errors(self, error, **{"runAt": "local_time", "then.versionId": "then"})


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


class SchedulePage(ResourcePage):
    """When to publish a version and, optionally, until when."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form."""
        self.require(Right.PUBLISH)
        return self.show(self.version(request.GET.get("version")), initial=_filled_in(request))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Schedule it, with a message about the time; after an error, show the form again."""
        self.require(Right.PUBLISH)
        version = self.version(request.POST.get("version"))
        form = self._form(data=request.POST)
        if not form.is_valid():
            return self.show(version, form=form, status=400)
        if request.POST.get("live", "") != (self.found.active_id or ""):
            return self.show(version, form=form, status=409, is_changed=True)
        try:
            made = self._scheduled(version, form)
        except Invalid as error:
            form.add(error)
            return self.show(version, form=form, status=400)
        message, level = _confirmation(made)
        return self.back("history", message, level=level)

    def _scheduled(self, version: Snapshot, form: ScheduleForm) -> Schedule:
        """Schedule it, expecting the version that is currently forecast to be live.

        Raises `Invalid` for a time and if the forecast says that this very version is live then.
        """
        run_at = form.times.begin().run_at
        expects = read_plan(self.found).live_at(run_at, self.found.active_id)
        if expects == version.version_id and not form.ending:
            raise Invalid.field("", "This version is live at that time already.", code="unchanged")
        return Schedules.current().create(
            self.kind.slug,
            self.resource_id,
            form.times,
            version_id=version.version_id,
            expects=expects,
            force=form.cleaned_data["force"],
            by=self.caller,
            **form.ending,
        )

    @property
    def found(self) -> VersionedResource:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to schedule."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to publish.")
        return self.with_history

    def version(self, version_id: str | None) -> Snapshot:
        """Return the version to schedule, by default the latest."""
        wanted = version_id or self.found.current.version_id
        version: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return version

    def _form(self, **given: Any) -> ScheduleForm:
        return ScheduleForm(**given, versions=self._choices)

    @cached_property
    def _choices(self) -> list[tuple[str, str]]:
        """The versions to go back to: first the live one, then the newest."""
        history = self.collection.versions(self.resource_id, by=self.caller)
        entries: Any = Timeline(self.found, history.versions)[:OFFERED]
        others = [entry.version for entry in entries if entry.version.version_id != self.found.active_id]
        found = [*([self.found.active] if self.found.active else []), *others]
        return [(version.version_id, _choice(version)) for version in found]

    def show(
        self,
        version: Snapshot,
        *,
        form: ScheduleForm | None = None,
        initial: dict[str, Any] | None = None,
        status: int = 200,
        is_changed: bool = False,
    ) -> HttpResponse:
        """Return the form."""
        live, at = self.found.active, None
        if form is not None and form.is_valid():
            with suppress(Invalid):
                at = form.times.begin().run_at
        return self.page(
            "schedules/ask.html",
            title=_("Schedule %(version)s") % {"version": reference_to(version)},
            status=status,
            form=form or self._form(initial=initial),
            version=version,
            live=live,
            live_title=title_of(live) if live else "",
            is_live=version.version_id == self.found.active_id,
            is_changed=is_changed,
            obstacle=obstacle_to(self.found, version, self.caller, at=at),
            zones=offered_zones(),
            silence=WorkerHeartbeat.objects.silence(),
            panels=self.panels("schedule", version),
            back_address=self.address("publish") + f"?version={version.version_id}",
        )


class ReleaseSchedulePage(WorkspacePage):
    """When to publish a release."""

    tab = "releases"
    right = Right.PUBLISH

    def get(self, request: HttpRequest, workspace: str, release: str) -> HttpResponse:
        """Show the form."""
        found = self.release(release)
        return self._scheduled(found) or self.show(ForceForm(initial=_filled_in(request)), found)

    def post(self, request: HttpRequest, workspace: str, release: str) -> HttpResponse:
        """Schedule it, and show the release; after an error, show the form again."""
        found, form = self.release(release), ForceForm(request.POST)
        scheduled = self._scheduled(found)
        if scheduled is not None:
            return scheduled
        if not form.is_valid():
            return self.show(form, found, status=400)
        try:
            made = Schedules.current().create_for_release(
                str(found.pk), form.times, force=form.cleaned_data["force"], by=self.caller
            )
        except Invalid as error:
            form.add(error)
            return self.show(form, found, status=400)
        except Conflict as error:  # it was just published
            form.add(Invalid.field("", error.message))
            return self.show(form, found, status=409)
        message, level = _confirmation(made)
        return self.go(release_url(self.workspace_id, str(found.pk)), message, level=level)

    def _scheduled(self, release: Release) -> HttpResponse | None:
        """Return to a release that is scheduled already: a second schedule could only fail."""
        if not Schedule.objects.waiting().filter(release_id=release.pk, workspace=self.workspace).exists():
            return None
        message = _("This release is already scheduled. Change the time of that schedule, or cancel it.")
        return self.go(release_url(self.workspace_id, str(release.pk)), message, level=messages.ERROR)

    def release(self, release_id: str) -> Release:
        """Return a release of this workspace; raises `NotFound`."""
        found = Release.objects.filter(pk=parse_uuid(release_id), workspace=self.workspace).first()
        if found is None:
            raise NotFound
        return found

    def show(self, form: ForceForm, release: Release, *, status: int = 200) -> HttpResponse:
        """Return the form."""
        return self.page(
            "schedules/ask_release.html",
            title=_("Schedule the release “%(title)s”") % {"title": release.title},
            status=status,
            form=form,
            zones=offered_zones(),
            silence=WorkerHeartbeat.objects.silence(),
            back_address=release_url(self.workspace_id, str(release.pk)),
        )


def _filled_in(request: HttpRequest) -> dict[str, Any]:
    """Return a form's initial values: from its address, and the zone of the page."""
    zone = request.GET.get("time_zone") or current_zone()
    return {"time_zone": zone, "force": request.GET.get("force") == "on"}


def _choice(version: Snapshot) -> str:
    """Return a version as a choice: `Version 3: Say who will answer`."""
    message = message_of(version)
    return f"{title_of(version)}: {message}" if message else title_of(version)


def _confirmation(schedule: Schedule) -> tuple[str, int]:
    """Return the message about a new schedule and its level; if it would fail, a warning that says why."""
    Schedules.current().judge([schedule])
    level = messages.WARNING if schedule.problems else messages.SUCCESS
    sentences = [will_happen(schedule), twice(schedule), *list_warnings(schedule)]
    return format_html_join(" ", "{}", ([sentence] for sentence in sentences if sentence)), level


class OneSchedulePage(WorkspacePage):
    """A page about one schedule of the workspace."""

    tab = "calendar"
    right = Right.PUBLISH

    def find(self, schedule_id: str) -> Schedule:
        """Return the schedule; raises `NotFound` for another workspace, even if the caller may read that."""
        found = Schedules.current().find(schedule_id, by=self.caller)
        if found.workspace_id != self.workspace.pk:
            raise NotFound
        return found

    def after(self, schedule: Schedule) -> str:
        """Return the next address: where the person came from, or the calendar."""
        return safe_next_url(self.request, self.address("calendar"))

    def ended(self, schedule: Schedule) -> HttpResponse:
        """Redirect with the message that it is too late."""
        schedule.refresh_from_db()
        message = _("It is too late: this schedule is already %(state)s.") % {
            "state": schedule.get_state_display().lower()
        }
        return self.go(self.after(schedule), message, level=messages.WARNING)


class ChangePage(OneSchedulePage):
    """Changes the time of a schedule."""

    def get(self, request: HttpRequest, workspace: str, schedule: str) -> HttpResponse:
        """Show the form."""
        found = self.find(schedule)
        if found.state != State.SCHEDULED:
            return self.ended(found)
        zone = zone_to_change(found)
        local = found.run_at.astimezone(zone)
        initial = {"local_time": f"{local:%Y-%m-%dT%H:%M}", "time_zone": zone.key}
        return self.show(TimeForm(initial=initial), found)

    def post(self, request: HttpRequest, workspace: str, schedule: str) -> HttpResponse:
        """Change the time, and go back; after an error, show the form again."""
        found, form = self.find(schedule), TimeForm(request.POST)
        if not form.is_valid():
            return self.show(form, found, status=400)
        try:
            changed = Schedules.current().change(schedule, form.times, by=self.caller)
        except Invalid as error:
            form.add(error)
            return self.show(form, found, status=400)
        except ScheduleEnded:
            return self.ended(found)
        message = format_html(_("It is now scheduled for {when}."), when=when_element(changed))
        return self.go(self.after(changed), format_html("{} {}", message, twice(changed)))

    def show(self, form: TimeForm, schedule: Schedule, *, status: int = 200) -> HttpResponse:
        """Return the form."""
        given = self.request.POST or self.request.GET
        context: dict[str, Any] = {
            "form": form,
            "schedule": schedule,
            "about": resource_name(schedule.kind, schedule.resource_id) if schedule.kind else _("A release"),
            "in_short": in_short(schedule),
            "warnings": list_warnings(Schedules.current().judge([schedule])[0]),
            "kind": KINDS_BY_SLUG.get(schedule.kind),
            "next": given.get("next", ""),
            "zones": offered_zones(),
            "silence": WorkerHeartbeat.objects.silence(),
            "back_address": self.address("calendar"),
        }
        return self.page("schedules/change.html", title=_("Reschedule"), status=status, **context)


class CancelPage(OneSchedulePage):
    """Cancels a schedule, and with a beginning its end; the record stays."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, workspace: str, schedule: str) -> HttpResponse:
        """Cancel it, or schedule it again, and go back."""
        found = self.find(schedule)
        if "undo" in request.POST:
            back = own_address(self.request.POST["undo"], self.address("calendar"))
            try:
                made = Schedules.current().repeat(str(found.pk), by=self.caller)
            except (Invalid, Conflict) as error:
                problem = error.issues[0].message if isinstance(error, Invalid) else error.message
                message = _("Not scheduled again: %(problem)s") % {"problem": translated(problem)}
                return self.go(back, message, level=messages.ERROR)
            return self.go(back, format_html(_("Scheduled again for {when}."), when=when_element(made)))
        try:
            Schedules.current().cancel(schedule, by=self.caller)
        except ScheduleEnded:
            return self.ended(found)
        message = _("Schedule cancelled. Nothing live has changed.")
        again, back = cancel_url(found), self.after(found)
        return self.go(back, with_undo(message, again, back))


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
    for_you=panels.for_you,
    event_address=panels.event_url,
)
