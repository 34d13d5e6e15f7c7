"""Rollouts, the versions that runs served, usage and feedback."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, Self
from uuid import UUID, uuid4

from django.apps import apps
from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import pgettext_lazy
from editor_client.shared.arms import MAX_PATH, Arm, build_rule

from versioning.domain.access import APPLICATION, Caller, Via
from versioning.domain.events import Reach, Target
from versioning.domain.overrides import IN_CODE
from versioning.models import Workspace, events
from versioning.models.messages import MessageField
from versioning.models.rules import LimitedText

MAX_REASON: Final = 1000
MAX_TEXT: Final = 200
MAX_COMMENT: Final = 2048
"""In bytes of UTF-8."""
REMEMBERED: Final = datetime.timedelta(days=30)
"""The time for which the served versions of a run are stored."""
SUMS = ("runs", "errors", "input_tokens", "output_tokens", "milliseconds")
COSTS = ("cost", "unpriced_runs")
"""The columns about costs; like the others, they are summed up."""
LAST = ("last_used_at", "last_used_by", "last_key_prefix", "prices_of")


class RolloutState(models.TextChoices):
    RUNNING = "running", pgettext_lazy("rollout", "Running")
    STOPPED = "stopped", pgettext_lazy("rollout", "Stopped")
    """Everyone gets the active version again."""
    COMPLETED = "completed", pgettext_lazy("rollout", "Completed")
    """The version of one of its arms has become the active one."""


class RolloutQuerySet(models.QuerySet["Rollout"]):
    def running(self) -> Self:
        return self.filter(state=RolloutState.RUNNING)

    def about(self, resource: Target) -> Self:
        """Filter by resource: a later one with the same id does not inherit rollouts."""
        return self.filter(kind=resource.kind, resource_id=resource.id, identity=resource.identity)

    def running_by_resource(self, resources: Collection[Target]) -> Mapping[tuple[str, str, UUID], Rollout]:
        """Return the running rollouts of resources, by kind, id and identity; in one statement."""
        rows = self.running().filter(
            resource_id__in={resource.id for resource in resources},
            identity__in={resource.identity for resource in resources},
        )
        return {(row.kind, row.resource_id, row.identity): row for row in rows}

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction."""
        return self.select_for_update(of=("self",), no_key=True)


class Rollout(models.Model):
    """Other versions of a resource for a share of the requests. The record stays after the end."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    identity = models.UUIDField()
    seed = models.CharField(max_length=36)
    """Makes the buckets of two rollouts independent of each other."""
    bucket_by = models.CharField(max_length=MAX_PATH)
    """The path of the bucket key in the request context."""
    arms = models.JSONField()
    """In the form and order of `Arm`."""
    state = models.CharField(max_length=16, choices=RolloutState, default=RolloutState.RUNNING)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The user name at the time, which outlives the account. Empty for the application."""
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    reason = LimitedText(max_length=MAX_REASON, blank=True)
    live_version_id = models.CharField(max_length=80, blank=True, default="", db_default="")
    """The version for all others; empty for a rollout that is older than this column."""
    usage_before = models.JSONField(null=True)
    """The usage on the day of the start before it, see `usage_of_day`; null if it is unknown."""
    usage_until = models.JSONField(null=True)
    """The usage on the day of the end until it; null before the end, and if it is unknown."""

    objects = RolloutQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at", "id"]
        constraints = [
            models.UniqueConstraint(
                name="one_rollout_runs_of_resource",
                fields=["kind", "resource_id", "identity"],
                condition=models.Q(state=RolloutState.RUNNING),
            ),
            models.CheckConstraint(
                name="rollout_ended_unless_running",
                condition=models.Q(state=RolloutState.RUNNING, ended_at=None)
                | (~models.Q(state=RolloutState.RUNNING) & models.Q(ended_at__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(name="rollout_of_workspace", fields=["workspace", "-started_at"]),
            models.Index(name="rollout_of_resource", fields=["resource_id", "state"]),
            models.Index(name="rollout_running_in", fields=["workspace", "state"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id}: {self.state}"

    @property
    def placed_arms(self) -> list[Arm]:
        return [Arm.from_stored(arm) for arm in self.arms]

    @property
    def rule(self) -> dict[str, Any]:
        """The rule of `editor_client.shared.arms`, in the form for clients."""
        return build_rule(str(self.pk), self.seed, self.bucket_by, self.placed_arms)

    @property
    def target(self) -> Target:
        """The log's reference to the resource, as long as it exists."""
        return Target(
            kind=self.kind,
            id=self.resource_id,
            identity=self.identity,
            workspace_id=self.workspace_id,
            reach=Reach.EDITORS,
        )

    def usage_of_day(self, day: datetime.date) -> list[dict[str, Any]]:
        """Return the usage of the resource so far on a day (UTC), by version and arm."""
        usage: Any = apps.get_model("experiments.Usage")  # by name: the package of usage imports this one
        found: list[dict[str, Any]] = usage.sum_day(self.kind, self.resource_id, day)
        return found

    def end(
        self, state: RolloutState, by: Caller, target: Target, *, reason: str = "", **detail: Any
    ) -> None:
        """Store and record the end, in the transaction that has locked the resource; cancel its steps."""
        self.state, self.ended_at, self.reason = state, timezone.now(), reason
        self.usage_until = self.usage_of_day(self.ended_at.date())
        self.save(update_fields=["state", "ended_at", "reason", "usage_until"])
        RolloutStep.objects.of(self).cancel()
        self.record(state.value, by, target, **detail)

    def record(self, what: str, by: Caller, target: Target, **detail: Any) -> None:
        weights = {arm.name: arm.weight for arm in self.placed_arms}
        events.record(
            f"rollout.{what}",
            by=by,
            workspace_id=self.workspace_id,
            resource=target,
            rolloutId=str(self.pk),
            weights=weights,
            **detail,
        )


class StepState(models.TextChoices):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    """By a person, at the end of the rollout, or because an earlier step failed."""


class StepQuerySet(models.QuerySet["RolloutStep"]):
    def of(self, rollout: Rollout, arms: Collection[str] | None = None) -> Self:
        """Filter by rollout, and by the names of its arms if they are given."""
        return self.filter(rollout=rollout, **({} if arms is None else {"arm__in": arms}))

    def waiting(self) -> Self:
        return self.filter(state=StepState.WAITING)

    def cancel(self) -> int:
        """Cancel the pending ones; return their number."""
        return self.waiting().update(state=StepState.CANCELLED, due_at=None)

    def due(self) -> Self:
        """Return the steps to take now, in order of their times."""
        return self.waiting().filter(due_at__lte=timezone.now()).order_by("run_at", "pk")


class RolloutStep(models.Model):
    work_name = "steps of rollouts"
    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="steps")
    arm = models.CharField(max_length=64)
    weight = models.PositiveIntegerField()
    """In ten thousandths."""
    run_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, db_index=True)
    """The next time for a worker: its own time, or later after a fault; null after the end."""
    state = models.CharField(max_length=16, choices=StepState, default=StepState.WAITING)
    problem = MessageField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The user name at the time, which outlives the account."""

    objects = StepQuerySet.as_manager()

    class Meta:
        ordering = ["run_at", "pk"]
        constraints = [
            models.CheckConstraint(
                name="rollout_step_due_while_waiting",
                condition=models.Q(state=StepState.WAITING, due_at__isnull=False)
                | (~models.Q(state=StepState.WAITING) & models.Q(due_at=None)),
            )
        ]

    def __str__(self) -> str:
        return f"{self.arm} {self.weight} at {self.run_at:%Y-%m-%d %H:%M} UTC"

    @property
    def unattended_caller(self) -> Caller:
        """The caller in the log if it fails: its author, who is notified."""
        return replace(APPLICATION, username=self.author_name or None, via=Via.SCHEDULE)


class ServedRun(models.Model):
    """The versions that a run served, so that feedback can name the run."""

    id = models.UUIDField(primary_key=True, editable=False)
    called = models.CharField(max_length=200)
    served = models.JSONField()
    """By `<kind>/<id>`: `[version id or null, arm or null]`, for the agents that ran and the blocks shown.

    Agents also have their identity, unless an older release has written the row.
    """
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{self.called} at {self.created_at}"

    @property
    def is_forgotten(self) -> bool:
        """Whether it has expired and cannot be named; a worker deletes the row later."""
        return self.created_at < timezone.now() - REMEMBERED

    def version_of(self, resource: Target, created_at: datetime.datetime) -> tuple[str | None, str] | None:
        """Return the version of a resource that the run served, and the arm; None if it served none.

        A later resource with the same id, created at `created_at`, is another one.
        """
        version_id, arm, *identity = self.served.get(f"{resource.kind}/{resource.id}", (None, None, ""))
        if identity:
            is_same = identity[0] == str(resource.identity)
        else:
            is_same = resource.identity == IN_CODE or created_at <= self.created_at
        return (version_id, arm or "") if is_same else None


class Usage(models.Model):
    """The usage of one version of a resource, in one arm or none, on one day (UTC)."""

    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    version_id = models.CharField(max_length=80, blank=True)
    """Empty for the version defined in code."""
    version_number = models.PositiveIntegerField(null=True)
    arm = models.CharField(max_length=64, blank=True)
    """The arm of the running rollout; empty without one."""
    day = models.DateField()
    runs = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    milliseconds = models.BigIntegerField(default=0)
    cost = models.BigIntegerField(default=0, db_default=0)
    """The cost of the runs with a known price, in billionths of a US dollar."""
    unpriced_runs = models.BigIntegerField(default=0, db_default=0)
    """The number of runs whose price is unknown."""
    prices_of = models.DateField(null=True)
    first_used_at = models.DateTimeField()
    last_used_at = models.DateTimeField()
    last_used_by = models.TextField(blank=True)
    """The username at the time; empty for the application itself."""
    last_key_prefix = models.CharField(max_length=16, blank=True)
    """The prefix of the last key that used it; empty without one."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="usage_once_a_day", fields=["kind", "resource_id", "day", "version_id", "arm"]
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id} on {self.day}: {self.runs}"

    @classmethod
    def sum_day(cls, kind: str, resource_id: str, day: datetime.date) -> list[dict[str, Any]]:
        """Return the sums of a resource so far on a day (UTC), by version and arm."""
        rows = cls._default_manager.filter(kind=kind, resource_id=resource_id, day=day)
        columns = ("version_id", "version_number", "arm", *SUMS, *COSTS)
        return list(rows.order_by("version_id", "arm").values(*columns))


class Feedback(models.Model):
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    resource_id = models.CharField(max_length=200)
    version_id = models.CharField(max_length=80, blank=True)
    """Empty for the version defined in code."""
    arm = models.CharField(max_length=64, blank=True)
    run_id = models.UUIDField(null=True)
    name = models.CharField(max_length=64)
    value: Any = models.JSONField()
    """A number, a text or a boolean."""
    comment = LimitedText(max_length=MAX_COMMENT, blank=True)
    external_id = models.CharField(max_length=MAX_TEXT, null=True)  # noqa: DJ001  null is not unique
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "feedback"
        constraints = [
            models.UniqueConstraint(name="feedback_once", fields=["workspace", "external_id"]),
        ]
        indexes = [
            models.Index(
                name="feedback_of_resource", fields=["kind", "resource_id", "version_id", "-created_at"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.kind} {self.resource_id}"
