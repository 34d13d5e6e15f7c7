"""One schedule: changing its time, or cancelling it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from capabilities.schedules.models import Schedule, State
from capabilities.schedules.studio.forms import TimeForm
from capabilities.schedules.studio.links import of_cancelling
from capabilities.schedules.studio.problems import judged, warnings_of
from capabilities.schedules.studio.wording import STATES, in_short, twice, when_element, zone_to_change
from capabilities.schedules.verbs import ScheduleEnded, Schedules
from studio.error_pages import own_address
from studio.kinds import KINDS_BY_SLUG
from studio.named import resource_name
from studio.translation import translated
from studio.views import safe_next_url, with_undo
from studio.workspaces.views import WorkspacePage
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.zones import offered_zones
from versioning.models import WorkerHeartbeat


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
            "state": str(STATES[schedule.state][0]).lower()
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
            "warnings": warnings_of(judged([schedule])[0]),
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
            return self._again(found)
        try:
            Schedules.current().cancel(schedule, by=self.caller)
        except ScheduleEnded:
            return self.ended(found)
        message = _("Schedule cancelled. Nothing live has changed.")
        again, back = of_cancelling(found), self.after(found)
        return self.go(back, with_undo(message, again, back))

    def _again(self, cancelled: Schedule) -> HttpResponse:
        """Schedule the same once more, with its end, if that is still possible."""
        back = own_address(self.request.POST["undo"], self.address("calendar"))
        try:
            made = Schedules.current().repeat(str(cancelled.pk), by=self.caller)
        except (Invalid, Conflict) as error:
            problem = error.issues[0].message if isinstance(error, Invalid) else error.message
            message = _("Not scheduled again: %(problem)s") % {"problem": translated(problem)}
            return self.go(back, message, level=messages.ERROR)
        return self.go(back, format_html(_("Scheduled again for {when}."), when=when_element(made)))
