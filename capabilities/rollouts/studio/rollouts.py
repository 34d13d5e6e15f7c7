"""The pages of a rollout: starting one, its numbers side by side, new shares, stopping it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from editor_client.shared.arms import MAX_PATH, Arm, refuse_path
from editor_client.shared.feedback import Summary
from editor_client.shared.ids import label_problem

from capabilities.rollouts import stepping
from capabilities.rollouts.counting import reference
from capabilities.rollouts.ending import END_ROLLOUT, RolloutRunning, running_of
from capabilities.rollouts.events import FAILED_STEP, percentage
from capabilities.rollouts.feedback.verbs import Feedbacks
from capabilities.rollouts.models import (
    COSTS,
    MAX_REASON,
    SUMS,
    Rollout,
    RolloutStep,
    ServedRun,
    State,
    StepState,
)
from capabilities.rollouts.statistics import FEW, Rate, difference
from capabilities.rollouts.stepping import Step
from capabilities.rollouts.studio.usage import Chart
from capabilities.rollouts.templatetags.shares import in_percent
from capabilities.rollouts.usage.verbs import Usages, dollars_of
from capabilities.rollouts.verbs import RolloutEnded, Rollouts
from studio.dates import current_zone, in_dollars
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.extensions import Action
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.translation import reference_to, title_of, translated
from studio.workspaces.views import add_errors
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, NotFound, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import is_uuid
from versioning.models import Event, VersionedResource, WorkerHeartbeat, events


def of_form(kind: StudioKind, resource_id: str, version_id: str) -> str:
    return f"{kind.address('share', resource_id)}?{urlencode({'version': version_id})}"


def of_rollout(rollout: Rollout, page: str = "rollout") -> str:
    """Return the address of a page about a rollout: `rollout`, `rollout_stop`, `rollout_weights`."""
    return KINDS_BY_SLUG[rollout.kind].address(page, rollout.resource_id, str(rollout.pk))


def of_completing(rollout: Rollout, arm: str) -> str:
    address = KINDS_BY_SLUG[rollout.kind].address
    return address("rollout_complete", rollout.resource_id, str(rollout.pk), arm)


def of_rollouts(kind: StudioKind, resource_id: str) -> str:
    return kind.address("rollouts", resource_id)


def way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address to stop a rollout that prevents the action; None for other errors."""
    if not isinstance(error, RolloutRunning):
        return None
    return Action(title=gettext("View rollout"), address=of_rollouts(kind, resource_id))


def of_event(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's rollout; empty for other events."""
    rollout_id = event.detail.get("rolloutId")
    if not rollout_id or not event.type.startswith("rollout."):
        return ""
    return kind.address("rollout", event.resource_id, str(rollout_id))


ALL: Final = 10_000
LATEST: Final = 1000
"""How many of the latest runs of the installation are read to find out whether the key is sent."""
MIN_RUNS: Final = 10
UNLIKELY: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class FeedbackCounts:
    name: str
    count: int
    mean: float | None
    shares: Sequence[tuple[str, Rate]]
    """The words of the feedback, and how often each was given."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
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
        rates = [self.errors, *(rate for feedback in self.feedback for _word, rate in feedback.shares)]
        return any(rate is not None and not rate.is_of_few for rate in rates)


def numbers_of(rollout: Rollout, active_id: str | None, caller: Caller) -> list[Numbers]:
    """Return the numbers of the arms and then of the live version, from the start of the rollout to its end.

    Requires the right to read drafts. Days are counted in UTC.
    """
    counted = _Counted(rollout, caller)
    rest = ALL - sum(arm.weight for arm in rollout.placed_arms)
    found = [counted.of(arm.name, arm.name, arm.version_id, arm.weight) for arm in rollout.placed_arms]
    found.append(counted.of(gettext("Live"), "", rollout.live_version_id or active_id or "", rest))
    charts = [usage.chart for usage in found if usage.chart]
    highest = max((chart.highest for chart in charts), default=0)
    for chart in charts:
        chart.highest = highest
    return found


def with_versions(numbers: Sequence[Numbers], resource: VersionedResource) -> list[Numbers]:
    """Return the numbers with those versions that no run has told, and whether each version still exists."""
    stored = [number.version_id for number in numbers if is_uuid(number.version_id)]
    rows = resource.versions.filter(pk__in=stored).values_list("pk", "number")
    known = {str(pk): number for pk, number in rows}
    return [
        replace(
            number,
            version_number=number.version_number or known.get(number.version_id),
            has_version=number.version_id in known,
        )
        for number in numbers
    ]


def compared_in_words(arm: Numbers, live: Numbers) -> str:
    """Return in a sentence how often an arm fails, compared with the live version; empty without runs."""
    here, there = arm.errors, live.errors
    if here is None or there is None:
        return ""
    names = {"arm": arm.title, "here_runs": here.total, "live_runs": there.total}
    if here.is_of_few or there.is_of_few:
        return gettext(
            "Not enough runs to compare “%(arm)s” with live: %(here_runs)d and %(live_runs)d, "
            "at least %(few)d of each are needed."
        ) % {**names, "few": FEW}
    low, high = difference(here, there)
    if high < 0:
        said = gettext(
            "“%(arm)s” fails less often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    elif low > 0:
        said = gettext(
            "“%(arm)s” fails more often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    else:
        said = gettext(
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
    served = [(at, counts[name]) for at, counts in latest if name in counts]
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
        for row in sums:
            key = (row["version_id"], row["arm"])
            unknown = {"version_number": row["version_number"], "prices_until": day}
            known = self._sums.setdefault(key, {**unknown, **{f"sum_{name}": 0 for name in (*SUMS, *COSTS)}})
            for name in (*SUMS, *COSTS):
                known[f"sum_{name}"] = max(known[f"sum_{name}"] + sign * row[name], 0)
            days = self._days[key]
            days[day] = max(days.get(day, 0) + sign * row["runs"], 0)

    def of(self, title: str, arm: str, version_id: str, weight: int) -> Numbers:
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
                _feedback_counts(feedback)
                for feedback in self._feedback
                if (feedback.version_id or "", feedback.arm or "") == about
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


PER_CENT: Final = 100
"""The number of ten thousandths in a percent."""
FIELDS: Final = {
    "bucketBy": "key",
    "arms.0.name": "name",
    "arms.0.weight": "share",
    "arms.0.versionId": "",
    "resource": "",
}
"""Maps fields of the API to form fields."""
LOCAL: Final = "%Y-%m-%dT%H:%M"
"""As the browser's control for a day and a time has it."""
ARM: Final = pgettext_lazy("variant", "new")
"""The default name of an arm."""


def percent_field(**more: Any) -> forms.DecimalField:
    """Return a field for a share from 0 to 100 percent, in hundredths of a percent."""
    return forms.DecimalField(min_value=0, max_value=100, decimal_places=2, **more)


def share_input() -> forms.NumberInput:
    return forms.NumberInput(attrs={"class": "input", "step": "any"})


def moment_field(**more: Any) -> forms.DateTimeField:
    control = forms.DateTimeInput(attrs={"class": "input", "type": "datetime-local"}, format=LOCAL)
    return forms.DateTimeField(required=False, input_formats=[LOCAL], widget=control, **more)


def percent(weight: int) -> Decimal:
    """Return a weight in ten thousandths as percent, without trailing zeros."""
    return Decimal(format((Decimal(weight) / PER_CENT).normalize(), "f"))


class ShareForm(forms.Form):
    """The share that gets a version, and the key that keeps requests together."""

    share = percent_field(
        label=_("Share of the requests, in percent"),
        initial=5,
        widget=forms.NumberInput(attrs={"class": "input", "step": "any", "autofocus": True}),
    )
    key = forms.CharField(
        label=_("Split traffic by"),
        initial="userId",
        max_length=MAX_PATH,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto", "spellcheck": "false"}),
        help_text=_(
            "A name in the request context, such as userId or customer.id. Requests with the same value "
            "always get the same version; requests without one get the live version."
        ),
    )
    name = forms.CharField(
        label=_("Variant name"),
        initial=ARM,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto", "spellcheck": "false"}),
        help_text=_(
            "Answers, usage and feedback name the variant. Lowercase letters, digits, dots and hyphens."
        ),
    )

    step_1_share = percent_field(
        label=_("Widen to, in percent"), initial=25, required=False, widget=share_input()
    )
    step_1_at = moment_field()
    step_2_share = percent_field(
        label=_("Then to, in percent"), initial=100, required=False, widget=share_input()
    )
    step_2_at = moment_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = {"zone": current_zone()}
        self.fields["step_1_at"].label = gettext("First step from (%(zone)s)") % zone
        self.fields["step_2_at"].label = gettext("Second step from (%(zone)s)") % zone

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always seen, besides the share."""
        return [self["key"], self["name"]]

    @property
    def step_fields(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The fields of the steps: share and time."""
        return [(self[f"step_{n}_share"], self[f"step_{n}_at"]) for n in (1, 2)]

    @property
    def has_steps(self) -> bool:
        return any(field.errors or field.value() for _share, at in self.step_fields for field in (at,))

    def clean_key(self) -> str:
        """Refuse what is no path, so that the page shows this together with other errors."""
        key: str = self.cleaned_data["key"].strip()
        try:
            refuse_path("bucketBy", key)
        except Invalid as error:
            self.add(error)
        return key

    def clean_name(self) -> str:
        """Refuse what is no name of a variant, as above."""
        name: str = self.cleaned_data["name"].strip()
        if problem := label_problem(name):
            self.add(Invalid.field("arms.0.name", problem))
        return name

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        share, moment = given.get("share"), timezone.now()
        for number in (1, 2):
            at, to = given.get(f"step_{number}_at"), given.get(f"step_{number}_share")
            if at is None:
                continue
            if to is None:
                self.add_error(f"step_{number}_share", gettext("Enter a share."))
            elif share is not None and to <= share:
                self.add_error(f"step_{number}_share", gettext("Enter a larger share than before."))
            if at <= moment:
                self.add_error(f"step_{number}_at", gettext("Enter a later time."))
            share, moment = to or share, max(at, moment)
        return given

    @property
    def steps(self) -> list[Step]:
        given = self.cleaned_data
        return [
            Step(weight=int(given[f"step_{n}_share"] * PER_CENT), run_at=at)
            for n in (1, 2)
            if (at := given[f"step_{n}_at"]) is not None
        ]

    def arm(self, version_id: str) -> Arm:
        weight = int(self.cleaned_data["share"] * PER_CENT)
        return Arm(name=self.cleaned_data["name"], version_id=version_id, weight=weight)

    def add(self, error: Invalid) -> None:
        add_errors(self, error, **FIELDS)


class WeightsForm(forms.Form):
    def __init__(self, *args: Any, arms: Sequence[Arm], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arms = arms
        for number, arm in enumerate(arms):
            self.fields[f"share_{number}"] = percent_field(
                label=_("Share of “%(arm)s”, in percent") % {"arm": arm.name},
                initial=percent(arm.weight),
                widget=forms.NumberInput(attrs={"class": "input", "step": "any"}),
            )

    def weights(self) -> list[tuple[str, int]]:
        return [
            (arm.name, int(self.cleaned_data[f"share_{number}"] * PER_CENT))
            for number, arm in enumerate(self.arms)
        ]

    def add(self, error: Invalid) -> None:
        add_errors(self, error, **{f"arms.{n}.weight": f"share_{n}" for n in range(len(self.arms))})


class StopForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason (optional)"),
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto"}),
    )


STEP_STATES: Final = {
    StepState.WAITING.value: pgettext_lazy("step", "waiting"),
    StepState.DONE.value: pgettext_lazy("step", "done"),
    StepState.FAILED.value: pgettext_lazy("step", "failed"),
    StepState.CANCELLED.value: pgettext_lazy("step", "cancelled"),
}
STATES: Final = {
    State.RUNNING.value: pgettext_lazy("rollout", "Running"),
    State.STOPPED.value: pgettext_lazy("rollout", "Stopped"),
    State.COMPLETED.value: pgettext_lazy("rollout", "Completed"),
}
EARLIER = 20
"""How many earlier rollouts the page lists."""


class OneRollout(ResourcePage):
    """A page about one rollout of the resource, for people who may read its drafts."""

    tab = "rollouts"
    right = Right.READ_DRAFTS

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.rollout_id, self.arm_name = kwargs.get("rollout", ""), kwargs.get("arm", "")

    @cached_property
    def rollout(self) -> Rollout:
        """The rollout; raises `NotFound` if it is of another resource."""
        self.require(self.right)
        found = Rollouts.current().find(self.rollout_id, by=self.caller)
        if (found.kind, found.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return found

    @property
    def found(self) -> VersionedResource:
        if self.resource is None:
            raise NotFound
        return self.resource

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        rollout = self.rollout
        is_running, may_publish = rollout.state == State.RUNNING, self.may(Right.PUBLISH)
        arms = rollout.placed_arms
        steps = list(rollout.steps.all()) if self.may(Right.PUBLISH) else []
        may_cancel = is_running and any(step.state == StepState.WAITING for step in steps)
        numbers = with_versions(numbers_of(rollout, self.found.active_id, self.caller), self.found)
        return self.page(
            "experiments/rollout.html",
            title=gettext("Rollout"),
            status=status,
            **{
                "rollout": rollout,
                "is_running": is_running,
                "state": STATES[rollout.state],
                **({} if is_running else self.ending(rollout)),
                "steps": [(step, percent(step.weight), STEP_STATES[step.state]) for step in steps],
                "silence": WorkerHeartbeat.objects.silence() if may_cancel else None,
                "cancel_steps_address": of_rollout(rollout, "rollout_steps") if may_cancel else "",
                "numbers": [(number, self.address("version", number.version_id)) for number in numbers],
                "compared": [
                    said for number in numbers[:-1] if (said := compared_in_words(number, numbers[-1]))
                ],
                "runs_without_key": runs_without_key(rollout) if is_running else 0,
                "has_intervals": any(number.has_intervals for number in numbers),
                "arms_in_words": arms_in_words(arms),
                "may_change": is_running and may_publish,
                "weights_form": WeightsForm(arms=arms) if is_running and may_publish else None,
                "stop_form": StopForm(),
                "stop_address": of_rollout(rollout, "rollout_stop"),
                "weights_address": of_rollout(rollout, "rollout_weights"),
                "completing": [(arm.name, of_completing(rollout, arm.name)) for arm in arms],
                "restart_address": of_form(self.kind, self.resource_id, arms[0].version_id)
                if rollout.state == State.STOPPED and may_publish
                else "",
                "earlier": self.earlier(rollout),
                **context,
            },
        )

    def ending(self, rollout: Rollout) -> dict[str, Any]:
        """Return who ended the rollout, and with which arm, as long as the log knows it."""
        entries = Event.objects.filter(
            type=f"rollout.{rollout.state}",
            resource_id=rollout.resource_id,
            detail__rolloutId=str(rollout.pk),
        )
        entry = entries.order_by("-position").first()
        return {"ended_by": entry.actor, "ended_arm": entry.detail.get("arm")} if entry else {}

    def earlier(self, shown: Rollout) -> list[tuple[Rollout, str, str]]:
        """Return the other rollouts of the resource, each with its arms in words and its address."""
        others = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        found = others.filter(identity=shown.identity).exclude(pk=shown.pk)[:EARLIER]
        return [(rollout, arms_in_words(rollout.placed_arms), of_rollout(rollout)) for rollout in found]


class RolloutPage(OneRollout):
    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        self.listen({"resource_kind": self.kind.slug, "resource_id": self.resource_id})
        return self.show()


class LatestRolloutPage(RolloutPage):
    """Shows the running rollout, or the last one; or explains how to start one."""

    @cached_property
    def rollout(self) -> Rollout:
        """The newest rollout of the resource; raises `NotFound` if there was none."""
        self.require(self.right)
        found = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        newest = found.order_by("-started_at").first()
        if newest is None:
            raise NotFound
        return newest

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        try:
            _newest = self.rollout
        except NotFound:
            start = self.address("share") if self.may(Right.PUBLISH) and self.resource else ""
            title = gettext("Rollout")
            return self.page("experiments/none.html", title=title, start_address=start)
        return super().show(status=status, **context)


class Target(OneRollout):
    right = Right.PUBLISH

    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        return self.go(of_rollout(self.rollout))


class WeightsPage(Target):
    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Change them; after an error, show the form again."""
        form = WeightsForm(request.POST, arms=self.rollout.placed_arms)
        if not form.is_valid():
            return self.show(status=400, weights_form=form)
        try:
            changed = Rollouts.current().change(self.rollout_id, form.weights(), by=self.caller)
        except Invalid as error:
            form.add(error)
            return self.show(status=400, weights_form=form)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        except (Conflict, Forbidden) as error:  # of the gate
            form.add_error(None, translated(error.message))
            return self.show(status=400, weights_form=form)
        message = gettext("Share changed: %(shares)s.") % {"shares": arms_in_words(changed.placed_arms)}
        return self.go(of_rollout(changed), message)


class StepsPage(Target):
    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        RolloutStep.objects.of(self.rollout).cancel()
        return self.go(of_rollout(self.rollout), gettext("Steps cancelled. The share stays as it is."))


class StopPage(Target):
    """Stops a rollout: everyone gets the live version."""

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        form = StopForm(request.POST)
        if not form.is_valid():
            return self.show(status=400, stop_form=form)
        try:
            reason = form.cleaned_data["reason"]
            Rollouts.current().stop(str(self.rollout.pk), reason=reason, by=self.caller)
        except Invalid as error:
            form.add_error("reason", error.issues[0].message)
            return self.show(status=400, stop_form=form)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        return self.go(of_rollout(self.rollout), gettext("Rollout stopped. Everyone gets the live version."))


class CompletePage(OneRollout, DifferencesPage):
    """Shows what changes for everyone else, and makes the version of an arm live."""

    right = Right.PUBLISH

    @cached_property
    def arm(self) -> Arm:
        """The arm; raises `NotFound` for an unknown name."""
        found = next(
            (placed_arm for placed_arm in self.rollout.placed_arms if placed_arm.name == self.arm_name), None
        )
        if found is None:
            raise NotFound
        return found

    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        return self.ask()

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Make it live, unless another version went live since the page was opened."""
        if request.POST.get("live", "") != (self.found.active_id or ""):
            return self.ask(status=409, is_changed=True)
        version = self.version()
        try:
            Rollouts.current().complete(str(self.rollout.pk), self.arm.name, by=self.caller)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        except (Invalid, Conflict):
            return self.ask(status=409)
        except Forbidden:
            self.require(Right.PUBLISH)
            return self.ask(status=403)
        return self.back("history", gettext("%(version)s is live.") % {"version": title_of(version)})

    def version(self) -> Snapshot:
        found: Snapshot = self.collection.version(
            self.resource_id, self.arm.version_id, by=self.caller
        ).version
        return found

    def ask(self, *, status: int = 200, **context: Any) -> HttpResponse:
        version, live = self.version(), self.found.active
        fields = self.effects(live, version)
        return self.page(
            "experiments/complete.html",
            title=gettext("Make “%(arm)s” live?") % {"arm": self.arm.name},
            status=status,
            rollout=self.rollout,
            is_running=self.rollout.state == State.RUNNING,
            version=version,
            version_title=reference_to(version),
            live=live,
            live_title=title_of(live) if live else "",
            before_title=title_of(live) if live else gettext("Nothing live"),
            after_title=title_of(version),
            fields=fields,
            unchanged=unchanged_titles(fields, self.effective(version)),
            obstacle=obstacle_to(self.found, version, self.caller, {END_ROLLOUT: True}),
            back_address=of_rollout(self.rollout),
            **context,
        )


class SharePage(ResourcePage):
    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        self.require(Right.PUBLISH)
        last = Rollout.objects.filter(workspace=self.workspace_id).order_by("-started_at").first()
        form = ShareForm(initial={"key": last.bucket_by} if last else None)
        return self.show(self.version(request.GET.get("version")), form)

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Start it; after an error, show the form again."""
        self.require(Right.PUBLISH)
        version, form = self.version(request.POST.get("version")), ShareForm(request.POST)
        if version.version_id == self.found.active_id:
            return self.show(version, form, status=409)
        if not form.is_valid():
            return self.show(version, form, status=400)
        try:
            arm = form.arm(version.version_id)
            with events.transaction():
                started = Rollouts.current().start(
                    self.kind.slug,
                    self.resource_id,
                    bucket_by=form.cleaned_data["key"],
                    arms=[arm],
                    by=self.caller,
                )
                stepping.plan(started, arm.name, form.steps, by=self.caller)
        except Invalid as error:
            form.add(error)
            return self.show(version, form, status=400)
        except Conflict as error:
            form.add(Invalid.field("", error.message))
            return self.show(version, form, status=409)
        except Forbidden:
            self.require(Right.PUBLISH)  # otherwise the page shows the gate's refusal
            return self.show(version, form, status=403)
        share = percent(int(form.cleaned_data["share"] * PER_CENT))
        message = gettext("Rollout started: %(version)s for %(share)s%% of the requests.")
        return self.go(of_rollout(started), message % {"version": reference_to(version), "share": share})

    @property
    def found(self) -> VersionedResource:
        """The resource; raises `NotFound` if only code defines the agent: there is nothing to try."""
        if self.with_history is None:
            raise NotFound("Nothing has been saved yet, so there is nothing to roll out.")
        return self.with_history

    def version(self, version_id: str | None) -> Snapshot:
        """Return the version to try, by default the latest."""
        wanted = version_id or self.found.current.version_id
        version: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return version

    def show(self, version: Snapshot, form: ShareForm, *, status: int = 200) -> HttpResponse:
        """Return the form, with what prevents the rollout."""
        live = self.found.active
        context: dict[str, Any] = {
            "live_title": reference_to(live) if live else "",
            "running_address": of_rollouts(self.kind, self.resource_id) if running_of(self.found) else "",
            "is_file": self.found.pointers is not None,
            "is_live": version.version_id == self.found.active_id,
        }
        reasons_against = ("running_address", "is_file", "is_live")
        context["is_possible"] = bool(live) and not any(context[reason] for reason in reasons_against)
        return self.page(
            "experiments/share.html",
            title=gettext("Start a rollout of %(version)s") % {"version": reference_to(version)},
            status=status,
            form=form,
            version=version,
            obstacle=obstacle_to(self.found, version, self.caller),
            panels=self.panels("share", version),
            back_address=f"{self.address('publish')}?version={version.version_id}",
            **context,
        )
