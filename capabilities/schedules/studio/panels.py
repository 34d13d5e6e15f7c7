"""Panels about the schedules of a resource, and the button to create one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from capabilities.schedules.models import Schedule, State
from capabilities.schedules.studio.links import (
    of_again,
    of_calendar,
    of_cancelling,
    of_changing,
    of_release_form,
)
from capabilities.schedules.studio.plan import MAX_SHOWN, Plan, plan_of
from capabilities.schedules.studio.problems import judged, warnings_of
from capabilities.schedules.studio.wording import did_not_happen, twice, why, will_happen
from studio.extensions import VersionButton
from studio.named import names_of
from studio.panels import Panel, Slot, SubjectOnPage, VersionOnPage
from versioning.domain.access import Right
from versioning.models import WorkerHeartbeat

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
class Line:
    """A schedule as a strip shows it."""

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
        return of_changing(self.schedule)

    @property
    def cancel_address(self) -> str:
        """The address that the cancel button sends to."""
        return of_cancelling(self.schedule)


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the strip."""
    plan = plan_of(shown.resource)
    if plan.planned or plan.failed:
        replaces = shown.page == "publish" and shown.version.version_id != shown.resource.active_id
        lines = lines_of(plan, may_publish=Right.PUBLISH in shown.rights, before_publishing=replaces)
        # An open edit page loads its parts from another address.
        is_open = shown.page in {"edit", "since"}
        own = shown.kind.address("change", shown.resource.pk) if is_open else shown.request.get_full_path()
        yield Panel(
            slot=Slot.TOP,
            html=strip(lines, shown.resource.workspace_id, shown.request, own),
            stylesheets=STYLESHEETS,
        )


def subject_panels(shown: SubjectOnPage) -> Iterator[Panel]:
    """Yield the same panels on the page of a release; the button only while it is a draft."""
    if shown.subject != "release" or not shown.caller.may(Right.READ_DRAFTS, shown.workspace_id):
        return
    may_publish = shown.caller.may(Right.PUBLISH, shown.workspace_id)
    lines = _lines_of_release(shown, may_publish=may_publish)
    if lines:
        html = strip(lines, shown.workspace_id, shown.request, shown.request.get_full_path())
        yield Panel(slot=Slot.TOP, html=html, stylesheets=STYLESHEETS)
    is_waiting = any(
        line.schedule.state == State.SCHEDULED and line.schedule.release_id is not None for line in lines
    )
    if may_publish and shown.is_open and not is_waiting:
        context = {"address": of_release_form(shown.workspace_id, shown.id)}
        html = render_to_string("schedules/button.html", context)
        yield Panel(slot=Slot.ACTIONS, html=html, stylesheets=STYLESHEETS)


def lines_of(plan: Plan, *, may_publish: bool, before_publishing: bool = False) -> list[Line]:
    """Return the lines of a strip: first failed schedules, then waiting ones.

    On the page that publishes another version, the next schedule says that it will fail then.
    """
    judged(one.schedule for one in plan.planned)
    failed = [_failed(one, may_publish=may_publish) for one in plan.failed]
    planned = [_planned(one.schedule, one.title, may_publish=may_publish) for one in plan.planned]
    if before_publishing and planned:
        following = planned[0].schedule
        if not following.force and not following.problems:
            planned[0] = replace(planned[0], warnings=[_("If you publish now, this schedule fails.")])
    return [*failed, *planned]


def _lines_of_release(shown: SubjectOnPage, *, may_publish: bool) -> list[Line]:
    """Return the lines for a release's page; a failure is shown until the release is scheduled again."""
    found = Schedule.objects.filter(release_id=shown.id, workspace=shown.workspace_id).order_by(
        "run_at", "pk"
    )
    waiting = judged(found.waiting())
    failed = found.failed_lately() if shown.is_open else ()
    return [
        *(_failed(one, may_publish=may_publish) for one in failed),
        *(_planned(one, may_publish=may_publish) for one in waiting),
        *(_lines_of_items(shown, may_publish=may_publish) if shown.is_open else ()),
    ]


def _lines_of_items(shown: SubjectOnPage, *, may_publish: bool) -> list[Line]:
    """Return the schedules of items of a draft release on their own, which fail once it is published."""
    found = Schedule.objects.waiting().of_items(UUID(shown.id)).filter(force=False).order_by("run_at", "pk")
    rows = list(found[:MAX_SHOWN])
    names = names_of([(row.kind, row.resource_id) for row in rows], shown.caller)
    return [
        Line(
            schedule=row,
            sentence=format_html(
                "{}: {}", names.get((row.kind, row.resource_id), row.resource_id), will_happen(row)
            ),
            warnings=[_("If this release goes live first, this schedule fails.")],
            can_change=may_publish,
        )
        for row in rows
    ]


def _failed(schedule: Schedule, *, may_publish: bool) -> Line:
    return Line(
        schedule=schedule,
        sentence=did_not_happen(schedule),
        warnings=[why(schedule)],
        again_address=of_again(schedule) if may_publish else "",
    )


def _planned(schedule: Schedule, title: str = "", *, may_publish: bool) -> Line:
    return Line(
        schedule=schedule,
        sentence=will_happen(schedule, title),
        notes=notes_of(schedule),
        warnings=warnings_of(schedule),
        can_change=may_publish,
    )


def notes_of(schedule: Schedule) -> list[str]:
    """Return the further notes on a waiting schedule."""
    notes = [twice(schedule)]
    if schedule.follows_id is not None:
        notes.append(_("This ends what goes live at the time above."))
    if schedule.force:
        notes.append(_("It happens even if another version is live by then."))
    return [note for note in notes if note]


def strip(lines: Sequence[Line], workspace_id: str, request: HttpRequest, next_url: str) -> SafeString:
    """Return the strip, with a warning if no worker runs. `next_url` is the address of the page."""
    is_waiting = any(line.schedule.state == State.SCHEDULED for line in lines)
    context: dict[str, Any] = {
        "lines": lines,
        "silence": WorkerHeartbeat.objects.silence() if is_waiting else None,
        "calendar_address": of_calendar(workspace_id),
        "next": next_url,
        "csrf_token": get_token(request),
    }
    return render_to_string("schedules/strip.html", context)
