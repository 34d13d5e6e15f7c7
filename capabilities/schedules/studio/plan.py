"""The schedules of one resource, their forecast, and recent failures: two queries at most."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from capabilities.releases.models import ReleaseItem
from capabilities.releases.models.releases import State as ReleaseState
from capabilities.schedules.forecast import Outcome, in_order, outcomes_of
from capabilities.schedules.models import SHOWN_FOR, Schedule, State
from versioning.conf import get_editor
from versioning.models import VersionedResource
from versioning.serving.grants import target_of

MAX_SHOWN: Final = 20


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A schedule on a resource, and its outcome if nothing else is published until then."""

    schedule: Schedule
    outcome: Outcome
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
        before = [one for one in self.planned if one.schedule.run_at <= moment]
        return before[-1].outcome.live if before else now


def concerns(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return rows without which a resource has no plan: its schedules, and its places in releases."""
    shown = Schedule.objects.filter(state__in=(State.SCHEDULED, State.FAILED, State.MISSED), **about)
    return [shown, ReleaseItem.objects.filter(release__state=ReleaseState.DRAFT, **about)]


def plan_of(resource: VersionedResource) -> Plan:
    """Return the schedules of a resource and of its releases."""
    target = target_of(resource, get_editor().code)
    items = ReleaseItem.objects.filter(
        kind=target.kind,
        resource_id=target.id,
        identity=target.identity,
        release__state=ReleaseState.DRAFT,
    )
    own = Q(kind=target.kind, resource_id=target.id, identity=target.identity)
    lately = Q(state__in=(State.FAILED, State.MISSED), executed_at__gte=timezone.now() - SHOWN_FOR)
    with_others = Q(release_id__in=items.order_by().values("release"), state=State.SCHEDULED)
    found = Schedule.objects.filter(own & (Q(state=State.SCHEDULED) | lately) | with_others)
    rows = list(found.order_by("run_at", "pk")[:MAX_SHOWN])
    waiting = in_order(row for row in rows if row.state == State.SCHEDULED)
    releases = [row.release_id for row in waiting if row.release_id is not None]
    joined = items.filter(release__in=releases).select_related("release") if releases else ()
    of_releases: Mapping[UUID, ReleaseItem] = {item.release_id: item for item in joined}
    outcomes = outcomes_of(f"{target.kind}/{target.id}", resource.active_id, waiting, of_releases)
    return Plan(
        planned=[
            Planned(
                schedule=row,
                outcome=outcome,
                title=of_releases[row.release_id].release.title if row.release_id is not None else "",
            )
            for row, (_step, outcome) in zip(waiting, outcomes, strict=True)
        ],
        failed=[
            row
            for row in rows
            if row.state != State.SCHEDULED and (row.version_id or None) != resource.active_id
        ],
    )
