"""The pages of a rollout: starting one, its numbers side by side, new shares, stopping it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from editor_client.shared.ids import label_problem
from editor_client.shared.scores import Summary

from capabilities.rollouts import stepping
from capabilities.rollouts.counting import reference
from capabilities.rollouts.ending import END_ROLLOUT, RolloutRunning, find_running
from capabilities.rollouts.events import FAILED_STEP, percentage
from capabilities.rollouts.feedback.verbs import Feedbacks
from capabilities.rollouts.models import (
    COSTS,
    MAX_REASON,
    SUMS,
    Rollout,
    RolloutState,
    RolloutStep,
    ServedRun,
    StepState,
)
from capabilities.rollouts.statistics import FEW, Rate, difference
from capabilities.rollouts.stepping import Step
from capabilities.rollouts.studio.usage import Chart
from capabilities.rollouts.templatetags.shares import in_percent
from capabilities.rollouts.usage.verbs import Usages, total_dollars
from capabilities.rollouts.verbs import RolloutEnded, Rollouts
from studio.dates import current_zone, in_dollars
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.extensions import Action
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.pages import ActionPage, FormPage, add_errors
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage, VersionFormPage
from studio.translation import reference_to, title_of
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, Message, NotFound, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import is_uuid
from versioning.models import Event, VersionedResource, WorkerHeartbeat, events


def address(rollout: Rollout, page: str = "rollout", *rest: str) -> str:
    """Return the address of a page about a rollout: `rollout`, `rollout_stop`, `rollout_weights`."""
    return KINDS_BY_SLUG[rollout.kind].address(page, rollout.resource_id, str(rollout.pk), *rest)


def way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address to stop a rollout that prevents the action; None for other errors."""
    if not isinstance(error, RolloutRunning):
        return None
    return Action(title=gettext("View rollout"), address=kind.address("rollouts", resource_id))


def event_address(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's rollout; empty for other events."""
    rollout_id = event.detail.get("rolloutId")
    if not rollout_id or not event.type.startswith("rollout."):
        return ""
    return kind.address("rollout", event.resource_id, str(rollout_id))


ALL: Final = 10_000
LATEST: Final = 1000
"""The number of the installation's latest runs that are read to see whether the key is sent."""
MIN_RUNS: Final = 10
UNLIKELY: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class Numbers:
    title: str
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
    feedback: Sequence[tuple[Summary, Sequence[tuple[str, Rate]]]] = ()
    """The feedback by name; and its words with their frequencies."""
    chart: Chart | None = None

    @property
    def has_intervals(self) -> bool:
        """Whether a rate is given with its interval, because it is of enough runs or feedback."""
        rates = [self.errors, *(rate for _summary, shares in self.feedback for _word, rate in shares)]
        return any(rate is not None and not rate.is_of_few for rate in rates)


def count_arms(rollout: Rollout, resource: VersionedResource, caller: Caller) -> list[Numbers]:
    """Return the numbers of the arms and then of the live version, from the start of the rollout to its end.

    Requires the right to read drafts. Days are counted in UTC.
    """
    counter = _RolloutCounts(rollout, caller)
    rest = ALL - sum(arm.weight for arm in rollout.placed_arms)
    numbers = [counter.count(arm.name, arm.name, arm.version_id, arm.weight) for arm in rollout.placed_arms]
    live_id = rollout.live_version_id or resource.active_id or ""
    numbers.append(counter.count(gettext("Live"), "", live_id, rest))
    charts = [usage.chart for usage in numbers if usage.chart]
    highest = max((chart.highest for chart in charts), default=0)
    for chart in charts:
        chart.highest = highest
    version_ids = [number.version_id for number in numbers if is_uuid(number.version_id)]
    rows = resource.versions.filter(pk__in=version_ids).values_list("pk", "number")
    version_numbers = {str(pk): number for pk, number in rows}
    return [
        replace(
            number,
            version_number=number.version_number or version_numbers.get(number.version_id),
            has_version=number.version_id in version_numbers,
        )
        for number in numbers
    ]


def compare_in_words(arm: Numbers, live: Numbers) -> str:
    """Return a sentence that compares an arm's failures with the live version's; empty without runs."""
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
        sentence = gettext(
            "“%(arm)s” fails less often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    elif low > 0:
        sentence = gettext(
            "“%(arm)s” fails more often than live: %(here)s%% of %(here_runs)d runs, "
            "compared with %(live)s%% of %(live_runs)d."
        )
    else:
        sentence = gettext(
            "No difference in errors was found between “%(arm)s” (%(here)s%% of %(here_runs)d runs) "
            "and live (%(live)s%% of %(live_runs)d)."
        )
    return sentence % {**names, "here": in_percent(here.share), "live": in_percent(there.share)}


def runs_without_key(rollout: Rollout) -> int:
    """Return the number of runs in no arm since the last change of the shares, if no request sends the key.

    Return 0 otherwise. With the key, this many runs outside all arms would occur in one of 100 rollouts.
    """
    share = sum(arm.weight for arm in rollout.placed_arms) / ALL
    rows = ServedRun.objects.filter(created_at__gte=rollout.started_at).order_by("-created_at")
    name = reference(rollout.kind, rollout.resource_id)
    latest = rows.values_list("created_at", "served")[:LATEST]
    served_arms = [(at, counts[name]) for at, counts in latest if name in counts]
    if len(served_arms) < MIN_RUNS or any(
        arm is not None for _at, (_version, arm, *_identity) in served_arms
    ):
        return 0
    changes = Event.objects.filter(
        type="rollout.changed",
        resource_id=rollout.resource_id,
        detail__rolloutId=str(rollout.pk),
        **{f"detail__{FAILED_STEP}__isnull": True},
    )
    changed_at = changes.order_by("-position").values_list("created_at", flat=True).first()
    count = sum(at >= (changed_at or rollout.started_at) for at, _one in served_arms)
    return count if count >= MIN_RUNS and (1 - share) ** count < UNLIKELY else 0


def arms_in_words(arms: Iterable[Arm]) -> str:
    """Return the shares of arms: `new 5%, short 2.5%`."""
    return ", ".join(f"{arm.name} {percentage(arm.weight)}" for arm in arms)


class _RolloutCounts:
    """The counts and the feedback between the start and the end of a rollout."""

    def __init__(self, rollout: Rollout, caller: Caller) -> None:
        about = (rollout.kind, rollout.resource_id)
        first, end = rollout.started_at.date(), rollout.ended_at
        until = end.date() if end else None
        if until is not None and rollout.usage_until is not None:
            until -= datetime.timedelta(days=1)  # the day of the end is counted below, until the end
        usage = Usages.current()
        rows = usage.summarize(*about, since=first, until=until, by=caller)
        self._sums: dict[tuple[str, str], dict[str, Any]] = {
            (row["version_id"], row["arm"]): {**row} for row in rows
        }
        self._days: defaultdict[tuple[str, str], dict[datetime.date, int]] = defaultdict(dict)
        for row in usage.daily(*about, since=first, until=until, by=caller):
            self._days[row["version_id"], row["arm"]][row["day"]] = row["runs"]
        if end is not None:
            self._add(rollout.usage_until or (), end.date(), 1)
        self._add(rollout.usage_before or (), first, -1)
        self._feedback = Feedbacks.current().summarize(*about, since=rollout.started_at, until=end, by=caller)

    def _add(self, sums: Iterable[Mapping[str, Any]], day: datetime.date, sign: int) -> None:
        for row in sums:
            key = (row["version_id"], row["arm"])
            unknown = {"version_number": row["version_number"], "prices_until": day}
            totals = self._sums.setdefault(key, {**unknown, **{f"sum_{name}": 0 for name in (*SUMS, *COSTS)}})
            for name in (*SUMS, *COSTS):
                totals[f"sum_{name}"] = max(totals[f"sum_{name}"] + sign * row[name], 0)
            days = self._days[key]
            days[day] = max(days.get(day, 0) + sign * row["runs"], 0)

    def count(self, title: str, arm: str, version_id: str, weight: int) -> Numbers:
        row = self._sums.get((version_id, arm))
        figures: dict[str, Any] = {}
        if row and row["sum_runs"]:
            runs = row["sum_runs"]
            figures = {
                "runs": runs,
                "errors": Rate.of(min(row["sum_errors"], runs), runs),
                "seconds": row["sum_milliseconds"] / runs / 1000,
                "tokens": (row["sum_input_tokens"] + row["sum_output_tokens"]) / runs,
                "cost": in_dollars(None if (cost := total_dollars(row)) is None else cost / runs),
                "chart": Chart.of(self._days[version_id, arm]),
            }
        return Numbers(
            title=title,
            arm=arm,
            version_id=version_id,
            version_number=row["version_number"] if row else None,
            percent=percentage(weight),
            feedback=[
                (
                    summary,
                    [
                        (word, rate)
                        for word, count in summary.counts.items()
                        if (rate := Rate.of(count, summary.count)) is not None
                    ],
                )
                for summary in self._feedback
                if (summary.version_id or "", summary.arm or "") == (version_id, arm)
            ],
            **figures,
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
"""The format of the browser's control for a day and a time."""
ARM: Final = pgettext_lazy("variant", "new")
"""The default name of an arm."""


def percent_field(*, has_focus: bool = False, **more: Any) -> forms.DecimalField:
    """Return a field for a share from 0 to 100 percent, in hundredths of a percent."""
    attributes = {"class": "input", "step": "any", **({"autofocus": True} if has_focus else {})}
    control = forms.NumberInput(attrs=attributes)
    return forms.DecimalField(min_value=0, max_value=100, decimal_places=2, widget=control, **more)


def moment_field() -> forms.DateTimeField:
    """Return an optional field for a time in the zone of the page."""
    control = forms.DateTimeInput(attrs={"class": "input", "type": "datetime-local"}, format=LOCAL)
    return forms.DateTimeField(required=False, input_formats=[LOCAL], widget=control)


def percent(weight: int) -> Decimal:
    """Return a weight in ten thousandths as percent, without trailing zeros."""
    return Decimal(format((Decimal(weight) / PER_CENT).normalize(), "f"))


class ShareForm(forms.Form):
    """The share that gets a version, and the key that keeps requests together."""

    share = percent_field(label=_("Share of the requests, in percent"), initial=5, has_focus=True)
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

    step_1_share = percent_field(label=_("Widen to, in percent"), initial=25, required=False)
    step_1_at = moment_field()
    step_2_share = percent_field(label=_("Then to, in percent"), initial=100, required=False)
    step_2_at = moment_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = {"zone": current_zone()}
        self.fields["step_1_at"].label = gettext("First step from (%(zone)s)") % zone
        self.fields["step_2_at"].label = gettext("Second step from (%(zone)s)") % zone

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always visible, besides the share."""
        return [self["key"], self["name"]]

    @property
    def step_fields(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The fields of the steps: share and time."""
        return [(self[f"step_{n}_share"], self[f"step_{n}_at"]) for n in (1, 2)]

    @property
    def has_steps(self) -> bool:
        return any(at.errors or at.value() for _share, at in self.step_fields)

    def clean_key(self) -> str:
        """Refuse an invalid path, so that the page shows this together with other errors."""
        key: str = self.cleaned_data["key"].strip()
        try:
            refuse_path("bucketBy", key)
        except Invalid as error:
            add_errors(self, error, **FIELDS)
        return key

    def clean_name(self) -> str:
        """Refuse an invalid name of a variant, as above."""
        name: str = self.cleaned_data["name"].strip()
        if problem := label_problem(name):
            add_errors(self, Invalid.field("name", problem))
        return name

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        share, moment = data.get("share"), timezone.now()
        for number in (1, 2):
            at, to = data.get(f"step_{number}_at"), data.get(f"step_{number}_share")
            if at is None:
                continue
            if to is None:
                self.add_error(f"step_{number}_share", gettext("Enter a share."))
            elif share is not None and to <= share:
                self.add_error(f"step_{number}_share", gettext("Enter a larger share than before."))
            if at <= moment:
                self.add_error(f"step_{number}_at", gettext("Enter a later time."))
            share, moment = to or share, max(at, moment)
        return data

    @property
    def steps(self) -> list[Step]:
        fields = self.cleaned_data
        return [
            Step(weight=int(fields[f"step_{n}_share"] * PER_CENT), run_at=at)
            for n in (1, 2)
            if (at := fields[f"step_{n}_at"]) is not None
        ]

    def arm(self, version_id: str) -> Arm:
        weight = int(self.cleaned_data["share"] * PER_CENT)
        return Arm(name=self.cleaned_data["name"], version_id=version_id, weight=weight)


class WeightsForm(forms.Form):
    def __init__(self, *args: Any, arms: Sequence[Arm], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arms = arms
        for number, arm in enumerate(arms):
            self.fields[f"share_{number}"] = percent_field(
                label=_("Share of “%(arm)s”, in percent") % {"arm": arm.name},
                initial=percent(arm.weight),
            )

    def weights(self) -> list[tuple[str, int]]:
        return [
            (arm.name, int(self.cleaned_data[f"share_{number}"] * PER_CENT))
            for number, arm in enumerate(self.arms)
        ]


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
EARLIER: Final = 20
"""The number of earlier rollouts on the page."""


class OneRollout(ResourcePage):
    """A page about one rollout of the resource, for people who can read its drafts."""

    tab = "rollouts"
    right = Right.READ_DRAFTS

    @cached_property
    def rollout(self) -> Rollout:
        """The rollout; raises `NotFound` if it is of another resource."""
        self.require(self.right)
        rollout = Rollouts.current().find(self.kwargs.get("rollout", ""), by=self.caller)
        if (rollout.kind, rollout.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return rollout

    @property
    def stored_resource(self) -> VersionedResource:
        if self.resource is None:
            raise NotFound
        return self.resource

    def handle_error(self, error: VersioningError) -> HttpResponse:
        """Go back to a rollout that another person has ended in the meantime."""
        if isinstance(error, RolloutEnded):
            return self.go(address(self.rollout), error.message)
        return super().handle_error(error)

    def show_rollout(self, *, status: int = 200, **context: Any) -> HttpResponse:
        rollout, may_publish = self.rollout, self.may(Right.PUBLISH)
        is_running = rollout.state == RolloutState.RUNNING
        arms = rollout.placed_arms
        steps = list(rollout.steps.all()) if may_publish else []
        may_cancel = is_running and any(step.state == StepState.WAITING for step in steps)
        numbers = count_arms(rollout, self.stored_resource, self.caller)
        endings = Event.objects.filter(
            type=f"rollout.{rollout.state}",
            resource_id=rollout.resource_id,
            detail__rolloutId=str(rollout.pk),
        )
        # Also None if it was pruned from the log.
        ending = None if is_running else endings.order_by("-position").first()
        earlier = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        earlier = earlier.filter(identity=rollout.identity).exclude(pk=rollout.pk)[:EARLIER]
        return self.page(
            "experiments/rollout.html",
            title=gettext("Rollout"),
            status=status,
            **{
                "rollout": rollout,
                "is_running": is_running,
                **({"ended_by": ending.actor, "ended_arm": ending.detail.get("arm")} if ending else {}),
                "steps": [(step, percent(step.weight), STEP_STATES[step.state]) for step in steps],
                "silence": WorkerHeartbeat.objects.silence() if may_cancel else None,
                "cancel_steps_address": address(rollout, "rollout_steps") if may_cancel else "",
                "numbers": [(number, self.address("version", number.version_id)) for number in numbers],
                "compared": filter(None, (compare_in_words(number, numbers[-1]) for number in numbers[:-1])),
                "runs_without_key": runs_without_key(rollout) if is_running else 0,
                "has_intervals": any(number.has_intervals for number in numbers),
                "arms_in_words": arms_in_words(arms),
                "may_change": is_running and may_publish,
                "weights_form": WeightsForm(arms=arms) if is_running and may_publish else None,
                "stop_form": StopForm(),
                "stop_address": address(rollout, "rollout_stop"),
                "weights_address": address(rollout, "rollout_weights"),
                "completing": [(arm.name, address(rollout, "rollout_complete", arm.name)) for arm in arms],
                "restart_address": f"{self.address('share')}?{urlencode({'version': arms[0].version_id})}"
                if rollout.state == RolloutState.STOPPED and may_publish
                else "",
                "earlier": [(other, arms_in_words(other.placed_arms), address(other)) for other in earlier],
                **context,
            },
        )


class RolloutPage(OneRollout):
    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        self.listen(self.scope)
        return self.show_rollout()


class LatestRolloutPage(RolloutPage):
    """Shows the running rollout, or the last one; or explains how to start one."""

    @cached_property
    def rollout(self) -> Rollout:
        """The newest rollout of the resource; raises `NotFound` if there was none."""
        self.require(self.right)
        rollouts = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        newest = rollouts.order_by("-started_at").first()
        if newest is None:
            raise NotFound
        return newest

    def show_rollout(self, *, status: int = 200, **context: Any) -> HttpResponse:
        try:
            _newest = self.rollout
        except NotFound:
            start = self.address("share") if self.may(Right.PUBLISH) and self.resource else ""
            return self.page("experiments/none.html", title=gettext("Rollout"), start_address=start)
        return super().show_rollout(status=status, **context)


class Target(OneRollout):
    """The target of a button on the page of a rollout."""

    right = Right.PUBLISH

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.go(address(self.rollout))


class FormTarget(Target, FormPage):
    """The target of a form on the page of a rollout, which shows its errors."""

    title = ""
    form_name: str

    def show(self, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
        return self.show_rollout(status=status, **{self.form_name: form}, **context)


class WeightsPage(FormTarget):
    form_name = "weights_form"

    @property
    def error_fields(self) -> Mapping[str, str]:
        return {f"arms.{n}.weight": f"share_{n}" for n in range(len(self.rollout.placed_arms))}

    def form(self, data: Any = None) -> WeightsForm:
        return WeightsForm(data, arms=self.rollout.placed_arms)

    def save(self, form: WeightsForm) -> HttpResponse:
        try:
            rollout = Rollouts.current().change(str(self.rollout.pk), form.weights(), by=self.caller)
        except RolloutEnded:
            raise
        except (Conflict, Forbidden) as error:  # of the gate
            return self.refuse(form, error.message)
        message = gettext("Share changed: %(shares)s.") % {"shares": arms_in_words(rollout.placed_arms)}
        return self.go(address(rollout), message)


class StepsPage(Target):
    """Cancels the pending steps."""

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        RolloutStep.objects.of(self.rollout).cancel()
        return self.go(address(self.rollout), gettext("Steps cancelled. The share stays as it is."))


class StopPage(FormTarget):
    """Stops a rollout: everyone gets the live version."""

    form_name = "stop_form"
    form_class = StopForm

    def save(self, form: StopForm) -> HttpResponse:
        Rollouts.current().stop(str(self.rollout.pk), reason=form.cleaned_data["reason"], by=self.caller)
        return self.go(address(self.rollout), gettext("Rollout stopped. Everyone gets the live version."))


class CompletePage(ActionPage, OneRollout, DifferencesPage):
    """Shows the effect for everyone else, and makes the version of an arm live."""

    right = Right.PUBLISH
    template = "experiments/complete.html"
    done_page = "history"

    @cached_property
    def arm(self) -> Arm:
        """The arm; raises `NotFound` for an unknown name."""
        arms = {arm.name: arm for arm in self.rollout.placed_arms}
        if self.kwargs["arm"] not in arms:
            raise NotFound
        return arms[self.kwargs["arm"]]

    @cached_property
    def version(self) -> Snapshot:
        resolved = self.collection.version(self.resource_id, self.arm.version_id, by=self.caller)
        version: Snapshot = resolved.version
        return version

    @property
    def title(self) -> str:
        return gettext("Make “%(arm)s” live?") % {"arm": self.arm.name}

    @property
    def back_address(self) -> str:
        return address(self.rollout)

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Make it live, unless another version went live since the page was opened."""
        if request.POST.get("live", "") != (self.stored_resource.active_id or ""):
            return self.ask(status=409, is_changed=True)
        try:
            return super().post(request, **ids)
        except RolloutEnded:
            raise
        except (Invalid, Conflict):
            return self.ask(status=409)
        except Forbidden:
            self.require(Right.PUBLISH)
            return self.ask(status=403)

    def act(self) -> str:
        version = self.version
        Rollouts.current().complete(str(self.rollout.pk), self.arm.name, by=self.caller)
        return gettext("%(version)s is live.") % {"version": title_of(version)}

    def context(self) -> dict[str, Any]:
        version, live = self.version, self.stored_resource.active
        fields = self.effects(live, version)
        return {
            "rollout": self.rollout,
            "is_running": self.rollout.state == RolloutState.RUNNING,
            "version": version,
            "version_title": reference_to(version),
            "live": live,
            "live_title": title_of(live) if live else "",
            "before_title": title_of(live) if live else gettext("Nothing live"),
            "after_title": title_of(version),
            "fields": fields,
            "unchanged": unchanged_titles(fields, self.effective(version)),
            "obstacle": obstacle_to(self.stored_resource, version, self.caller, {END_ROLLOUT: True}),
        }


class SharePage(FormPage, VersionFormPage):
    """Starts a rollout of one version."""

    form_class = ShareForm
    nothing_stored = Message("Nothing has been saved yet, so there is nothing to roll out.")
    error_fields = FIELDS
    template = "experiments/share.html"

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        form = self.form(request.POST)
        if self.version.version_id == self.stored_resource.active_id:
            return self.show(form, status=409)
        return super().post(request, **ids)

    def initial(self) -> dict[str, Any]:
        """Return the key of the last rollout in the workspace."""
        last = Rollout.objects.filter(workspace=self.workspace_id).order_by("-started_at").first()
        return {"key": last.bucket_by} if last else {}

    def form(self, data: Any = None) -> ShareForm:
        self.require(Right.PUBLISH)
        form: ShareForm = super().form(data)
        return form

    def save(self, form: ShareForm) -> HttpResponse:
        arm = form.arm(self.version.version_id)
        key = form.cleaned_data["key"]
        try:
            with events.transaction():
                started = Rollouts.current().start(
                    self.kind.slug, self.resource_id, bucket_by=key, arms=[arm], by=self.caller
                )
                stepping.plan(started, arm.name, form.steps, by=self.caller)
        except Conflict as error:
            add_errors(form, Invalid.field("", error.message))
            return self.show(form, status=409)
        except Forbidden:
            self.require(Right.PUBLISH)  # otherwise the page shows the gate's refusal
            return self.show(form, status=403)
        message = gettext("Rollout started: %(version)s for %(share)s%% of the requests.")
        words = {"version": reference_to(self.version), "share": percent(arm.weight)}
        return self.go(address(started), message % words)

    @property
    def title(self) -> str:
        return gettext("Start a rollout of %(version)s") % {"version": reference_to(self.version)}

    def context(self) -> dict[str, Any]:
        version, live = self.version, self.stored_resource.active
        reasons_against: dict[str, Any] = {
            "running_address": self.address("rollouts") if find_running(self.stored_resource) else "",
            "is_file": self.stored_resource.pointers is not None,
            "is_live": version.version_id == self.stored_resource.active_id,
        }
        return {
            **reasons_against,
            "is_possible": bool(live) and not any(reasons_against.values()),
            "live_title": reference_to(live) if live else "",
            "version": version,
            "obstacle": obstacle_to(self.stored_resource, version, self.caller),
            "panels": self.panels("share", version),
            "back_address": f"{self.address('publish')}?version={version.version_id}",
        }
