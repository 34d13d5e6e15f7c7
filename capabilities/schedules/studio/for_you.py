"""The person's own schedules, with what threatens them, and those that failed lately."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from capabilities.releases.models import Release
from capabilities.releases.models.releases import State as ReleaseState
from capabilities.schedules.models import Schedule, ScheduleQuerySet
from capabilities.schedules.studio.links import of_again, of_changing, of_release
from capabilities.schedules.studio.problems import judged, reasons_against
from capabilities.schedules.studio.wording import chip_of, in_short, when, why
from capabilities.schedules.verbs import Schedules
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.kinds import KINDS_BY_SLUG
from studio.limits import shortened
from versioning.domain.access import Caller, Right
from versioning.models import VersionedResource

MAX_JUDGED: Final = 50
"""How many of the person's schedules are judged: the next ones."""
STYLESHEETS: Final = ["schedules/schedules.css"]


def count_for(caller: Caller) -> int:
    """Return how many of the person's schedules failed lately, or will fail as far as a worker knows."""
    # Every page shows it, and most people schedule nothing: then the rest need not be asked.
    if caller.user_id is None or not Schedule.objects.filter(author=caller.user_id).exists():
        return 0
    threatened = _own(caller).waiting().exclude(known_problems="")
    found = list((threatened | _failed(caller))[:MAX_JUDGED])
    failed = [one for one in found if one.executed_at is not None]
    return len(found) - len(failed) + len(_Subjects.of(failed, caller).unresolved)


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the person's schedules: first those that failed or will fail, then the others by time."""
    waiting = list(_own(caller).waiting().order_by("run_at", "pk")[:MAX_JUDGED])
    failed = _failed(caller).order_by("-run_at", "pk")[:MAX_JUDGED]
    subjects = _Subjects.of([*failed, *waiting], caller)
    upcoming = judged(waiting)
    found = [
        *subjects.unresolved,
        *(one for one in upcoming if one.problems),
        *(one for one in upcoming if not one.problems),
    ]
    yield TaskGroup(
        key="schedules",
        urgency=Urgency.PLANNED,
        title=_("Your schedules"),
        tasks=[_task(one, subjects, caller) for one in found[:SHOWN]],
        count=len(found),
        address=reverse("studio:calendar"),
        stylesheets=STYLESHEETS,
    )


def _own(caller: Caller) -> ScheduleQuerySet:
    own = Q(author=caller.user_id) if caller.user_id is not None else Q(pk=None)
    return Schedules.current().list(by=caller).filter(own)


def _failed(caller: Caller) -> ScheduleQuerySet:
    """Return the recent failures; without those whose subject has been scheduled again since."""
    same: Any = Q(
        release_id=None,
        kind=OuterRef("kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("identity"),
    ) | Q(release_id=OuterRef("release_id"))
    again = Schedule.objects.filter(same, created_at__gt=OuterRef("executed_at")).order_by()
    return _own(caller).failed_lately().filter(~Exists(again))


@dataclass(frozen=True, kw_only=True)
class _Subjects:
    """What schedules are about, as far as the caller may read it."""

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
                resources[slug, resource.pk] = resource, shortened(entry.name or resource.pk)
        named = {schedule.release_id for schedule in schedules if schedule.release_id is not None}
        releases = Release.objects.readable_by(caller).in_bulk(named) if named else {}
        return cls(schedules=schedules, resources=resources, releases=releases)

    @property
    def unresolved(self) -> list[Schedule]:
        """The failed schedules whose subject is still not as they were to make it."""
        return [
            schedule
            for schedule in self.schedules
            if schedule.executed_at is not None and not self._is_resolved(schedule)
        ]

    def _is_resolved(self, schedule: Schedule) -> bool:
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            return release is not None and release.state != ReleaseState.DRAFT
        found = self.resources.get((schedule.kind, schedule.resource_id))
        return found is not None and found[0].active_id == (schedule.version_id or None)

    def named(self, schedule: Schedule) -> tuple[str, str]:
        """Return the name and the address of a schedule's subject."""
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            if release is None:
                return _("A release"), ""
            return release.title, of_release(schedule.workspace_id, str(release.pk))
        found = self.resources.get((schedule.kind, schedule.resource_id))
        if found is None:
            return schedule.resource_id, ""
        return found[1], KINDS_BY_SLUG[schedule.kind].address("history", schedule.resource_id)


def _task(schedule: Schedule, subjects: _Subjects, caller: Caller) -> Task:
    name, address = subjects.named(schedule)
    again = of_again(schedule)
    is_over = schedule.executed_at is not None
    may_publish = caller.may(Right.PUBLISH, schedule.workspace_id)
    action = (_("Schedule again…"), again) if is_over else (_("Reschedule…"), of_changing(schedule))
    is_offered = may_publish and bool(again if is_over else schedule.problems)
    return Task(
        name=name,
        address=address,
        icon=KINDS_BY_SLUG[schedule.kind].icon if schedule.kind else "publish",
        chip=chip_of(schedule),
        about=f"{in_short(schedule)} · {when(schedule)}",
        notes=[one for one in (why(schedule), *reasons_against(schedule)) if one],
        workspace_id=schedule.workspace_id,
        action=action[0] if is_offered else "",
        action_address=action[1],
    )
