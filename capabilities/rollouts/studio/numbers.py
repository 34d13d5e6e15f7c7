"""The numbers of a rollout: its arms and, for comparison, the live version."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.utils.translation import gettext as _
from editor_client.shared.arms import Arm
from editor_client.shared.feedback import Summary

from capabilities.rollouts.events import FAILED_STEP, percentage
from capabilities.rollouts.feedback.verbs import Feedbacks
from capabilities.rollouts.models import COSTS, SUMS, Rollout, ServedRun
from capabilities.rollouts.runs.remembering import reference
from capabilities.rollouts.statistics import FEW, Rate, difference
from capabilities.rollouts.studio.charts import Chart
from capabilities.rollouts.templatetags.shares import in_percent
from capabilities.rollouts.usage.verbs import Usages, dollars_of
from studio.dates import in_dollars
from versioning.domain.access import Caller
from versioning.domain.uuids import is_uuid
from versioning.models import Event, VersionedResource

ALL: Final = 10_000
LATEST: Final = 1000
"""How many of the latest runs of the installation are read to find out whether the key is sent."""
MIN_RUNS: Final = 10
UNLIKELY: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class FeedbackCounts:
    """The feedback on an arm under one name."""

    name: str
    count: int
    mean: float | None
    shares: Sequence[tuple[str, Rate]]
    """The words of the feedback, and how often each was given."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of an arm, or of the live version."""

    title: str
    """The name of the arm."""
    arm: str
    """Empty for the live version."""
    version_id: str
    version_number: int | None
    has_version: bool = False
    """Whether there is a page about the version."""
    percent: str
    runs: int = 0
    errors: Rate | None = None
    seconds: float | None = None
    """The mean time of a run, including sub-agents."""
    tokens: float | None = None
    """The mean tokens of a run, input and output."""
    cost: str = ""
    """The mean cost of a run, estimated; empty if it is unknown."""
    feedback: Sequence[FeedbackCounts] = field(default_factory=tuple)
    chart: Chart | None = None

    @property
    def has_intervals(self) -> bool:
        """Whether a rate is given with its interval, because it is of enough runs or feedback."""
        rates = [self.errors, *(rate for one in self.feedback for _word, rate in one.shares)]
        return any(rate is not None and not rate.is_of_few for rate in rates)


def numbers_of(rollout: Rollout, active_id: str | None, caller: Caller) -> list[Numbers]:
    """Return the numbers of the arms and then of the live version, from the start of the rollout to its end.

    Requires the right to read drafts. Days are counted in UTC.
    """
    counted = _Counted(rollout, caller)
    rest = ALL - sum(arm.weight for arm in rollout.placed_arms)
    found = [counted.of(arm.name, arm.name, arm.version_id, arm.weight) for arm in rollout.placed_arms]
    found.append(counted.of(_("Live"), "", rollout.live_version_id or active_id or "", rest))
    charts = [one.chart for one in found if one.chart]
    highest = max((chart.highest for chart in charts), default=0)
    for chart in charts:
        chart.highest = highest
    return found


def with_versions(numbers: Sequence[Numbers], resource: VersionedResource) -> list[Numbers]:
    """Return the numbers with those versions that no run has told, and whether each version still exists."""
    stored = [one.version_id for one in numbers if is_uuid(one.version_id)]
    rows = resource.versions.filter(pk__in=stored).values_list("pk", "number")
    known = {str(pk): number for pk, number in rows}
    return [
        replace(
            one,
            version_number=one.version_number or known.get(one.version_id),
            has_version=one.version_id in known,
        )
        for one in numbers
    ]


def compared_in_words(arm: Numbers, live: Numbers) -> str:
    """Return in a sentence how often an arm fails, compared with the live version; empty without runs."""
    here, there = arm.errors, live.errors
    if here is None or there is None:
        return ""
    names = {"arm": arm.title, "here_runs": here.total, "live_runs": there.total}
    if here.is_of_few or there.is_of_few:
        return _(
            "Not enough runs to compare “%(arm)s” with live: %(here_runs)d and %(live_runs)d, "
            "at least %(few)d of each are needed."
        ) % {**names, "few": FEW}
    low, high = difference(here, there)
    if high < 0:
        said = _(
            "“%(arm)s” fails less often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    elif low > 0:
        said = _(
            "“%(arm)s” fails more often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    else:
        said = _(
            "No difference in errors was found between “%(arm)s” (%(here)s%% of %(here_runs)d runs) "
            "and live (%(live)s%% of %(live_runs)d)."
        )
    return said % {**names, "here": in_percent(here.share), "live": in_percent(there.share)}


def runs_without_key(rollout: Rollout) -> int:
    """Return how many runs since the last change of the shares were in no arm, if no request sends the key.

    Return 0 otherwise. With the key, so many runs outside all arms would happen in one of 100 rollouts.
    """
    share = sum(arm.weight for arm in rollout.placed_arms) / ALL
    rows = ServedRun.objects.filter(created_at__gte=rollout.started_at).order_by("-created_at")
    name = reference(rollout.kind, rollout.resource_id)
    latest = rows.values_list("created_at", "served")[:LATEST]
    served = [(at, one[name]) for at, one in latest if name in one]
    if len(served) < MIN_RUNS or any(arm is not None for _at, (_version, arm) in served):
        return 0
    since = _weighed_at(rollout)
    count = sum(at >= since for at, _one in served)
    return count if count >= MIN_RUNS and (1 - share) ** count < UNLIKELY else 0


def _weighed_at(rollout: Rollout) -> datetime.datetime:
    """Return since when the shares are what they are."""
    changes = Event.objects.filter(
        type="rollout.changed",
        resource_id=rollout.resource_id,
        detail__rolloutId=str(rollout.pk),
        **{f"detail__{FAILED_STEP}__isnull": True},
    )
    last = changes.order_by("-position").values_list("created_at", flat=True).first()
    return last or rollout.started_at


def arms_in_words(arms: Iterable[Arm]) -> str:
    """Return the shares of arms: `new 5%, short 2.5%`."""
    return ", ".join(f"{arm.name} {percentage(arm.weight)}" for arm in arms)


class _Counted:
    """The counts and the feedback between the start and the end of a rollout."""

    def __init__(self, rollout: Rollout, caller: Caller) -> None:
        about = (rollout.kind, rollout.resource_id)
        first, end = rollout.started_at.date(), rollout.ended_at
        until = end.date() if end else None
        if until is not None and rollout.usage_until is not None:
            until -= datetime.timedelta(days=1)  # the day of the end is counted below, until the end
        usage = Usages.current()
        rows = usage.summed(*about, since=first, until=until, by=caller)
        self._sums: dict[tuple[str, str], dict[str, Any]] = {
            (row["version_id"], row["arm"]): {**row} for row in rows
        }
        self._days: defaultdict[tuple[str, str], dict[datetime.date, int]] = defaultdict(dict)
        for row in usage.daily(*about, since=first, until=until, by=caller):
            self._days[row["version_id"], row["arm"]][row["day"]] = row["runs"]
        if end is not None:
            self._add(rollout.usage_until or (), end.date(), 1)
        self._add(rollout.usage_before or (), first, -1)
        self._feedback = Feedbacks.current().summed(*about, since=rollout.started_at, until=end, by=caller)

    def _add(self, sums: Iterable[Mapping[str, Any]], day: datetime.date, sign: int) -> None:
        """Add stored sums of a day, or subtract them."""
        for row in sums:
            key = (row["version_id"], row["arm"])
            unknown = {"version_number": row["version_number"], "prices_until": day}
            known = self._sums.setdefault(key, {**unknown, **{f"sum_{name}": 0 for name in (*SUMS, *COSTS)}})
            for name in (*SUMS, *COSTS):
                known[f"sum_{name}"] = max(known[f"sum_{name}"] + sign * row[name], 0)
            days = self._days[key]
            days[day] = max(days.get(day, 0) + sign * row["runs"], 0)

    def of(self, title: str, arm: str, version_id: str, weight: int) -> Numbers:
        """Return the numbers of an arm, or those of the version for all others."""
        row = self._sums.get((version_id, arm))
        counted: dict[str, Any] = {}
        if row and row["sum_runs"]:
            runs = row["sum_runs"]
            counted = {
                "runs": runs,
                "errors": Rate.of(min(row["sum_errors"], runs), runs),
                "seconds": row["sum_milliseconds"] / runs / 1000,
                "tokens": (row["sum_input_tokens"] + row["sum_output_tokens"]) / runs,
                "cost": in_dollars(None if (cost := dollars_of(row)) is None else cost / runs),
                "chart": Chart.of(self._days[version_id, arm]),
            }
        about = (version_id, arm)
        return Numbers(
            title=title,
            arm=arm,
            version_id=version_id,
            version_number=row["version_number"] if row else None,
            percent=percentage(weight),
            feedback=[
                _feedback_counts(one)
                for one in self._feedback
                if (one.version_id or "", one.arm or "") == about
            ],
            **counted,
        )


def _feedback_counts(summary: Summary) -> FeedbackCounts:
    shares = [(word, Rate.of(count, summary.count)) for word, count in summary.counts.items()]
    return FeedbackCounts(
        name=summary.name,
        count=summary.count,
        mean=summary.mean,
        shares=[(word, rate) for word, rate in shares if rate is not None],
    )
