"""Schedules in lists of resources: which of them go live by themselves, alone or with a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString

from capabilities.releases.models import ReleaseItem
from capabilities.schedules.models import Schedule, ScheduleQuerySet, State
from capabilities.schedules.studio.links import of_release
from capabilities.schedules.studio.wording import STATES, WILL_FAIL, in_short, when
from capabilities.schedules.verbs import Schedules
from studio.kinds import KINDS_BY_SLUG, StudioKind
from versioning.domain.access import Caller
from versioning.domain.kinds import ResourceKind


def list_notes(
    caller: Caller, kind: StudioKind, resources: Mapping[str, str]
) -> Mapping[str, Sequence[SafeString]]:
    """Return what goes live next of each resource; two queries, for callers who may read drafts."""
    waiting = Schedules.current().list(by=caller).waiting()
    found: dict[str, Schedule] = {}
    for resource_id, schedule in _of_resources(waiting, kind, resources):
        first = found.get(resource_id, schedule)
        if resources[resource_id] == schedule.workspace_id and schedule.run_at <= first.run_at:
            found[resource_id] = schedule
    return {resource_id: [_chip(kind, resource_id, value)] for resource_id, value in found.items()}


def _of_resources(
    waiting: ScheduleQuerySet, kind: ResourceKind, ids: Iterable[str]
) -> list[tuple[str, Schedule]]:
    """Return the schedules of resources of a kind, and of the releases that they are in, by their ids."""
    own = waiting.filter(kind=kind.slug, resource_id__in=list(ids))
    items = ReleaseItem.objects.filter(kind=kind.slug, resource_id__in=list(ids)).order_by()
    of_releases = waiting.of_releases().filter(release_id__in=items.values("release"))
    together = {release.release_id: release for release in of_releases.order_by("-run_at")}
    pairs = items.filter(release__in=together).values_list("resource_id", "release") if together else ()
    return [
        *((one.resource_id, one) for one in own),
        *((resource_id, together[release_id]) for resource_id, release_id in pairs),
    ]


def _chip(kind: StudioKind, resource_id: str, schedule: Schedule) -> SafeString:
    """Return the chip; a schedule that will fail says so, as far as a worker knows."""
    word, chip = WILL_FAIL if schedule.known_problems else STATES[State.SCHEDULED]
    if schedule.release_id is not None:
        address = of_release(schedule.workspace_id, str(schedule.release_id))
    else:
        address = KINDS_BY_SLUG[kind.slug].address("history", resource_id)
    title = f"{in_short(schedule)} · {when(schedule)}"
    return format_html('<a class="chip {}" href="{}" title="{}">{}</a>', chip, address, title, word)
