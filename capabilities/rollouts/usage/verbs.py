"""The verbs of usage: report an application's own usage, and sum usage up."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db.models import Max, Min, Model, QuerySet, Sum
from django.utils import timezone

from capabilities.rollouts.counting import Count, UsageKey, store
from capabilities.rollouts.models import COSTS, LAST, SUMS, Rollout, Usage
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.events import Target
from versioning.domain.kinds import kind_named
from versioning.domain.provider_catalog import cost_dict, from_billionths
from versioning.editor.event_log import EventLog
from versioning.editor.resources import Who, caller_of
from versioning.editor.timeline import live_periods
from versioning.models import VersionedResource
from versioning.models.followers import Follower
from versioning.runtime.observing import PricedModel, Prices
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs

Row = TypeVar("Row", bound=Model)
REPORTED_FOR: Final = datetime.timedelta(days=30)
"""The time for which viewers may report usage of formerly active versions and of arms of rollouts."""


def report(
    usage: Verbs,
    kind: str,
    resource_id: str,
    version_id: str | None,
    *,
    arm: str = "",
    by: Who = APPLICATION,
    **sums: int,
) -> None:
    """Add an application's usage of a version; `sums` are those of `Usage`.

    Everyone who can read the resource may report usage of recently served versions: the active one, former
    ones, and the arms of its rollouts. Other versions require the right to read drafts. Raises `NotFound`,
    `Forbidden`, and `Invalid` for an unknown version, and for an arm that it was never in.
    """
    by, found_kind = caller_of(by), kind_named(kind)
    resource = usage.editor.collection(found_kind).find_or_defined(resource_id, by=by)
    reported = version_reported_by(usage, resource, version_id, arm, by=by)
    now = timezone.now()
    cost = _cost_reported(usage, resource, reported, sums)
    count = Count.of(by, now, cost=cost, **sums)
    store({UsageKey(found_kind.slug, resource.pk, reported, arm, now.date()): count})


def _cost_reported(
    usage: Verbs, resource: VersionedResource, version_id: str, sums: Mapping[str, int]
) -> Decimal | None:
    """Return the cost of reported tokens with the model of the version; None if it names no single one."""
    tokens = [sums.get(name, 0) for name in ("input_tokens", "output_tokens")]
    if not resource.kind.is_run or not any(tokens):
        return None
    in_code = usage.editor.code.get(resource.pk)
    stored_model = None if in_code is not None else find_version(resource, version_id).config.get("model")
    model = stored_model if in_code is None else in_code.model
    if not isinstance(model, Mapping):
        return None
    priced = PricedModel.of(model, usage.editor.providers())
    return Prices(usage.editor.prices()).of_tokens(priced, *tokens)


def summarize(
    usage: Verbs,
    kind: str,
    resource_id: str,
    *,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
    by: Who = APPLICATION,
) -> Sequence[Mapping[str, Any]]:
    """Return the usage of each version in each arm, last used first; both days are included.

    Requires the right to read drafts.
    """
    of_each = _rows(usage, kind, resource_id, (since, until), by).values(
        "version_id", "version_number", "arm"
    )
    return list(
        of_each.annotate(
            **{f"sum_{name}": Sum(name) for name in (*SUMS, *COSTS)},
            prices_until=Max("prices_of"),
            first=Min("first_used_at"),
            last=Max("last_used_at"),
        ).order_by("-last", "version_id", "arm")
    )


def daily(
    usage: Verbs,
    kind: str,
    resource_id: str,
    *,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
    by: Who = APPLICATION,
) -> Sequence[Mapping[str, Any]]:
    """Return the runs and the last use by `version_id`, `arm` and `day`; arguments as for `summarize`."""
    rows = _rows(usage, kind, resource_id, (since, until), by)
    return list(rows.values("version_id", "arm", "day", "runs", *LAST).order_by("day", "version_id", "arm"))


def runs_of_many(
    kind: str, resource_ids: Iterable[str], since: datetime.date
) -> Mapping[str, Mapping[datetime.date, int]]:
    """Return the runs of each day of several resources, by their ids, in one query.

    Checks no rights: the caller must be allowed to read the drafts of the resources.
    """
    rows = Usage.objects.filter(kind=kind, resource_id__in=list(resource_ids), day__gte=since).order_by()
    runs_by_resource: defaultdict[str, dict[datetime.date, int]] = defaultdict(dict)
    for resource_id, day, runs in rows.values_list("resource_id", "day").annotate(Sum("runs")):
        runs_by_resource[resource_id][day] = runs
    return runs_by_resource


def _rows(
    usage: Verbs,
    kind: str,
    resource_id: str,
    days: tuple[datetime.date | None, datetime.date | None],
    by: Who,
) -> QuerySet[Usage]:
    """Return the rows of a resource between two days, inclusive."""
    by, found_kind = caller_of(by), kind_named(kind)
    resource = usage.editor.collection(found_kind).find_or_defined(resource_id, by=by)
    by.require(Right.READ_DRAFTS, resource.workspace_id)
    filters = {"day__gte": days[0], "day__lte": days[1]}
    rows = Usage.objects.filter(kind=found_kind.slug, resource_id=resource.pk).order_by()
    return rows.filter(**{name: day for name, day in filters.items() if day is not None})


def total_dollars(row: Mapping[str, Any]) -> Decimal | None:
    """Return the cost of a row of `summarize`; None if the price of one run is unknown."""
    is_known = not row["sum_unpriced_runs"] and row["prices_until"] is not None
    return from_billionths(row["sum_cost"]) if is_known else None


def cost_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the same as JSON."""
    return cost_dict(total_dollars(row), row["prices_until"])


class Usages(Verbs):
    """The usage of versions."""

    report = report
    summarize = summarize
    daily = daily


def version_reported_by(
    verbs: Verbs, resource: VersionedResource, version_id: str | None, arm: str, *, by: Caller
) -> str:
    """Return the id of the reported version, empty for the code; raises as `report` does."""
    if version_id is None:
        if not is_defined_in_code(resource.kind.slug, resource.pk):
            raise Invalid.field("versionId", "may be null only for a version defined in code")
        if arm:
            raise Invalid.field("arm", "needs a version: an arm cannot have the version defined in code")
        return ""
    try:
        version = find_version(resource, version_id)
    except NotFound:
        raise Invalid.field("versionId", "is not a version of this resource") from None
    in_arm_until = _in_arm_until(resource, version.version_id, arm) if arm else None
    served_until = in_arm_until or _active_until(resource, version.version_id, verbs.editor.event, by)
    if served_until is None or served_until < timezone.now() - REPORTED_FOR:
        by.require(Right.READ_DRAFTS, resource.workspace_id)
    if arm and in_arm_until is None:
        raise Invalid.field("arm", "was never an arm with this version")
    return version.version_id


def _in_arm_until(resource: VersionedResource, version_id: str, arm: str) -> datetime.datetime | None:
    """Return the time until which a version was in an arm; None if it never was."""
    rollouts = Rollout.objects.filter(kind=resource.kind.slug, resource_id=resource.pk)
    ends = [
        rollout.ended_at or timezone.now()
        for rollout in rollouts
        if any(
            (placed_arm.name, placed_arm.version_id) == (arm, version_id)
            for placed_arm in rollout.placed_arms
        )
    ]
    return max(ends, default=None)


def _active_until(
    resource: VersionedResource, version_id: str, log: EventLog, by: Caller
) -> datetime.datetime | None:
    """Return the time until which a version was active, according to the log; None if it never was."""
    if version_id == resource.active_id:
        return timezone.now()
    periods = live_periods(log, resource, by=by).by_version.get(version_id, ())
    return max((period.until for period in periods if period.until is not None), default=None)


def is_defined_in_code(kind: str, resource_id: str) -> bool:
    """Return whether code defines an agent with this id."""
    return kind == AGENT.slug and get_editor().code.get(resource_id) is not None


def about_versions(rows: QuerySet[Row], resource: Target) -> QuerySet[Row]:
    """Filter rows to delete with a resource: for an override, not those about the code, which remains."""
    own_rows = rows.filter(kind=resource.kind, resource_id=resource.id)
    is_defined = is_defined_in_code(resource.kind, resource.id)
    return own_rows.exclude(version_id="") if is_defined else own_rows


FOLLOWER: Final = Follower(
    call=lambda _by, resource, *_about: about_versions(Usage.objects.all(), resource).delete(),
    events=["deleted"],
)
