"""The use of versions, to check before deleting or pruning them, and feedback on answers."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.rollouts.feedback.verbs import Feedbacks
from capabilities.rollouts.usage.verbs import Usages, total_dollars
from studio import additions
from studio.dates import in_dollars
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.models import ApiKey

WIDTH: Final = 120
HEIGHT: Final = 24
MAX_DAYS: Final = 31
DAYS: Final = datetime.timedelta(days=MAX_DAYS - 1)
"""The number of days before today on a chart."""
MIN_DAYS: Final = 14
"""The minimum number of days on a chart, so that a single day is not a huge bar."""


@dataclass(kw_only=True)
class Chart:
    """Runs per day, without gaps, oldest first."""

    first: datetime.date
    last: datetime.date
    runs: Sequence[int]
    highest: int = 0
    """The value at the top of the chart; charts to be compared share it."""

    @classmethod
    def of(cls, days: Mapping[datetime.date, int]) -> Chart | None:
        """Return the chart of the last days, up to the last one with runs; None without runs."""
        if not days:
            return None
        last = max(days)
        first = max(min(days), last - datetime.timedelta(days=MAX_DAYS - 1))
        all_days = [first + datetime.timedelta(days=number) for number in range((last - first).days + 1)]
        runs = [days.get(day, 0) for day in all_days]
        return cls(first=first, last=last, runs=runs, highest=max(runs))

    @property
    def total(self) -> int:
        return sum(self.runs)

    @property
    def peak(self) -> int:
        return max(self.runs)

    @property
    def peak_day(self) -> datetime.date:
        """The first day with the most runs."""
        return self.first + datetime.timedelta(days=self.runs.index(self.peak))

    @property
    def end(self) -> datetime.date:
        """The day at the end of the axis, which has room for `MIN_DAYS`."""
        return self.first + datetime.timedelta(days=max(len(self.runs), MIN_DAYS) - 1)

    @property
    def days(self) -> list[tuple[datetime.date, int]]:
        """Each day with runs and their number, newest first."""
        dated = [(self.first + datetime.timedelta(days=n), runs) for n, runs in enumerate(self.runs)]
        return [(day, runs) for day, runs in reversed(dated) if runs]

    @property
    def bars(self) -> list[tuple[float, float, float, float]]:
        """The bars: x, y, width and height, in a box of `WIDTH` by `HEIGHT`."""
        step = WIDTH / max(len(self.runs), MIN_DAYS)
        heights = [HEIGHT * runs / (self.highest or 1) for runs in self.runs]
        return [
            (round(number * step, 2), round(HEIGHT - height, 2), round(max(step - 1, 1), 2), round(height, 2))
            for number, height in enumerate(heights)
        ]

    @property
    def box(self) -> str:
        return f"0 0 {WIDTH} {HEIGHT}"


ARMS: Final = {"evaluation": gettext_lazy("Experiment")}
"""The purposes of runs under names that are not arms of a rollout."""
NEWEST: Final = 20
"""The maximum number of feedback entries on the page."""


class UsagePage(ResourcePage):
    """The usage of a resource in the last days, by version and arm."""

    tab = "runs"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        self.require(Right.READ_DRAFTS)
        since = timezone.now().date() - DAYS
        about = (self.kind.slug, self.resource_id)
        rows = Usages.current().summarize(*about, since=since, by=self.caller)
        days = Usages.current().daily(*about, since=since, by=self.caller)
        whole: dict[datetime.date, int] = {}
        last: dict[tuple[str, str], Mapping[str, Any]] = {}
        for day in days:
            whole[day["day"]] = whole.get(day["day"], 0) + day["runs"]
            last[day["version_id"], day["arm"]] = day  # the days are in order
        prefixes = {usage["last_key_prefix"] for usage in last.values()} - {"", None}
        keys = ApiKey.objects.filter(prefix__in=prefixes)
        if not self.may(Right.ADMINISTER):  # the names are for the owners, and for admins of the workspace
            keys = keys.filter(owner=self.caller.user_id)
        names = dict(keys.values_list("prefix", "name")) if prefixes else {}
        feedback = []
        for row in Feedbacks.current().list(self.kind.slug, self.resource_id, by=self.caller)[:NEWEST]:
            # The data for an application's action on it; the question is not stored.
            details = {
                "name": row.name,
                "value": row.value,
                "comment": row.comment,
                "resource": row.resource_id,
                "versionId": row.version_id,
                "runId": str(row.run_id) if row.run_id else "",
            }
            details = {name: value for name, value in details.items() if value != ""}
            words = {True: _("yes"), False: _("no")} if isinstance(row.value, bool) else {}
            feedback.append(
                {"row": row, "value": words.get(row.value, row.value), "about": json.dumps(details)}
            )
        active_id = (self.resource.active_id if self.resource else None) or ""
        return self.page(
            "experiments/usage.html",
            title=_("Usage"),
            rows=[
                self._row(row, last.get((row["version_id"], row["arm"]), {}), active_id, names)
                for row in rows
            ],
            chart=Chart.of(whole),
            prices_of=max(
                (row["prices_until"] for row in rows if total_dollars(row) is not None), default=None
            ),
            since=since,
            days=MAX_DAYS,
            feedback=feedback,
            answer_actions=additions.collect(lambda addition: addition.answer_actions(self.caller)),
        )

    def _row(
        self,
        row: Mapping[str, Any],
        last: Mapping[str, Any],
        active_id: str,
        key_names: Mapping[str, str],
    ) -> dict[str, Any]:
        runs, version_id = row["sum_runs"], row["version_id"]
        return {
            "title": _("Version %(number)s") % {"number": row["version_number"]}
            if version_id
            else _("The code"),
            "address": self.address("version", version_id) if version_id else "",
            "is_live": version_id == active_id,
            "arm": row["arm"],
            "arm_title": ARMS.get(row["arm"], row["arm"]),
            "runs": runs,
            "errors": row["sum_errors"],
            "tokens": row["sum_input_tokens"] + row["sum_output_tokens"],
            "cost": in_dollars(total_dollars(row)),
            "seconds": row["sum_milliseconds"] / runs / 1000 if runs else None,
            "last": row["last"],
            "by": last.get("last_used_by"),
            "key_prefix": last.get("last_key_prefix"),
            "key_name": key_names.get(last.get("last_key_prefix") or ""),
        }
