"""Forecast what is live when each schedule runs, and which will fail, if nothing else is published.

So the end of a pair is judged in the state that its beginning leaves, and not in the current one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from capabilities.releases.models import ReleaseItem
from capabilities.releases.models.releases import State as ReleaseState
from capabilities.schedules.models import Schedule
from versioning.domain.events import Target

ItemsByRelease = Mapping[UUID, ReleaseItem]
"""The actions of releases on one resource, by the ids of the releases."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one schedule does with a resource; versions are ids, None stands for none."""

    expects: str | None
    """The version that must be live by then."""
    makes_live: str | None
    is_forced: bool = False
    """Whether it runs even if another version is live by then."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a step."""

    fails: bool
    before: str | None
    """The version that is live when it runs."""
    live: str | None
    """The version that is live afterwards."""
    has_nothing_to_do: bool = False
    """Whether it fails only because what it would make live is live by then already."""


def is_unexpected(live: str | None, *, expects: str | None, is_forced: bool) -> bool:
    """Return whether another version is live than expected, so that the schedule does not run."""
    return not is_forced and expects != live


def forecast(live: str | None, steps: Iterable[Step]) -> Iterator[Outcome]:
    """Yield the outcome of each step, in order of time; `live` is the current live version."""
    for step in steps:
        before = live
        fails = is_unexpected(live, expects=step.expects, is_forced=step.is_forced)
        live = live if fails else step.makes_live
        has_nothing_to_do = fails and before == step.makes_live
        yield Outcome(fails=fails, before=before, live=live, has_nothing_to_do=has_nothing_to_do)


def in_order(schedules: Iterable[Schedule]) -> list[Schedule]:
    """Return schedules in running order: at the same time, single versions before releases."""
    return sorted(schedules, key=lambda one: (one.run_at, one.release_id is not None, one.pk))


def outcomes_of(
    reference: str, live: str | None, waiting: Sequence[Schedule], items: ItemsByRelease
) -> list[tuple[Step, Outcome]]:
    """Return each schedule's step on a resource with its outcome; they are ordered by time."""
    steps = [_step(one, reference, items) for one in waiting]
    return list(zip(steps, forecast(live, steps), strict=True))


def expected(live: Mapping[str, tuple[Target, str | None]]) -> Mapping[tuple[UUID, str], Outcome]:
    """Return the outcomes of all schedules on resources, by schedule and resource.

    `live` are the resources by their references in `Schedule.expects`, each with its live version. Takes at
    most three statements.
    """
    known = {(target.kind, target.id, target.identity) for target, _ in live.values()}
    ids, identities = {one[1] for one in known}, {one[2] for one in known}
    own = Schedule.objects.waiting().filter(resource_id__in=ids, identity__in=identities)
    scheduled = Schedule.objects.waiting().filter(release_id__isnull=False).order_by().values("release_id")
    items = ReleaseItem.objects.filter(
        resource_id__in=ids, identity__in=identities, release__state=ReleaseState.DRAFT, release__in=scheduled
    )
    items_of: defaultdict[str, dict[UUID, ReleaseItem]] = defaultdict(dict)
    for item in items.order_by():
        if (item.kind, item.resource_id, item.identity) in known:
            items_of[f"{item.kind}/{item.resource_id}"][item.release_id] = item
    releases = {release_id for of_one in items_of.values() for release_id in of_one}
    together = Schedule.objects.waiting().filter(release_id__in=releases) if releases else ()
    waiting = _by_resource([*own.order_by(), *together], items_of)
    found = {}
    for reference, (_target, live_now) in live.items():
        rows = in_order(waiting[reference])
        for row, (_step, outcome) in zip(
            rows, outcomes_of(reference, live_now, rows, items_of[reference]), strict=True
        ):
            found[row.pk, reference] = outcome
    return found


def _by_resource(
    rows: Iterable[Schedule], items_of: Mapping[str, ItemsByRelease]
) -> Mapping[str, list[Schedule]]:
    found: defaultdict[str, list[Schedule]] = defaultdict(list)
    concerned: defaultdict[UUID, list[str]] = defaultdict(list)
    for reference, of_one in items_of.items():
        for release_id in of_one:
            concerned[release_id].append(reference)
    for row in rows:
        for reference in [row.reference] if row.release_id is None else concerned[row.release_id]:
            found[reference].append(row)
    return found


def _step(schedule: Schedule, reference: str, items: ItemsByRelease) -> Step:
    if schedule.release_id is None:
        makes_live = schedule.version_id or None
    else:
        item = items[schedule.release_id]
        makes_live = str(item.version_id) if item.version_id else None
    return Step(expects=schedule.expects.get(reference), makes_live=makes_live, is_forced=schedule.force)
