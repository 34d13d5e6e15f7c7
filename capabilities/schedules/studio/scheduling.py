"""Scheduling a version, and scheduling a release."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.translation import gettext as _

from capabilities.releases.models import Release
from capabilities.schedules.models import Schedule
from capabilities.schedules.studio.forms import ForceForm, ScheduleForm
from capabilities.schedules.studio.links import of_release
from capabilities.schedules.studio.plan import plan_of
from capabilities.schedules.studio.problems import judged, warnings_of
from capabilities.schedules.studio.wording import twice, will_happen
from capabilities.schedules.verbs import Schedules
from studio.dates import current_zone
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.translation import message_of, reference_to, title_of
from studio.workspaces.views import WorkspacePage
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.domain.zones import offered_zones
from versioning.editor.timeline import Timeline
from versioning.models import VersionedResource, WorkerHeartbeat

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
        expects = plan_of(self.found).live_at(run_at, self.found.active_id)
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
        return [(one.version_id, _choice(one)) for one in found]

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
        return self.go(of_release(self.workspace_id, str(found.pk)), message, level=level)

    def _scheduled(self, release: Release) -> HttpResponse | None:
        """Return to a release that is scheduled already: a second schedule could only fail."""
        if not Schedule.objects.waiting().filter(release_id=release.pk, workspace=self.workspace).exists():
            return None
        message = _("This release is already scheduled. Change the time of that schedule, or cancel it.")
        return self.go(of_release(self.workspace_id, str(release.pk)), message, level=messages.ERROR)

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
            back_address=of_release(self.workspace_id, str(release.pk)),
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
    judged([schedule])
    level = messages.WARNING if schedule.problems else messages.SUCCESS
    sentences = [will_happen(schedule), twice(schedule), *warnings_of(schedule)]
    return format_html_join(" ", "{}", ([sentence] for sentence in sentences if sentence)), level
