"""The model of schedules."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Min
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.rules import Problem as ReleaseProblem
from capabilities.schedules.times import When
from versioning.domain.access import APPLICATION, Caller, Via
from versioning.domain.errors import VersioningError
from versioning.domain.events import Reach, Target
from versioning.domain.zones import MAX_NAME
from versioning.models import Workspace, events
from versioning.models.due_work import Owner
from versioning.models.keys import PREFIX_LENGTH
from versioning.models.messages import MessageField
from versioning.models.personal_data import names_in, sentences_in
from versioning.models.querysets import covered_by

SHOWN_FOR: Final = datetime.timedelta(days=7)
"""The time for which pages show failures."""


class ScheduleState(models.TextChoices):
    """The state of a schedule."""

    SCHEDULED = "scheduled", pgettext_lazy("a schedule", "Scheduled")
    DONE = "done", pgettext_lazy("a schedule", "Done")
    FAILED = "failed", pgettext_lazy("a schedule", "Failed")
    CANCELLED = "cancelled", pgettext_lazy("a schedule", "Cancelled")
    MISSED = "missed", pgettext_lazy("a schedule", "Missed")


class Action(models.TextChoices):
    """The action of a schedule."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"


class NotWaiting(Exception):
    """A schedule has already ended, or has another time."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem that would prevent a schedule."""

    code: str
    """The code of the failed schedule; for a release, the code of its check."""
    message: str
    """A sentence for everyone who can read the schedule."""
    error: VersioningError | None = None
    """The gate's error; None for problems found by schedules and releases themselves."""
    item: ReleaseProblem | None = None
    """The release's own problem; None for a resource."""
    has_nothing_to_do: bool = False
    """Whether the schedule's version is already live by then."""


class PinnedVersion(NamedTuple):
    """The version of a schedule, which may have been deleted since."""

    version_id: str
    number: int | None


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    """Queries for schedules."""

    def waiting(self) -> Self:
        """Filter waiting schedules."""
        return self.filter(state=ScheduleState.SCHEDULED)

    def due(self) -> Self:
        """Return the schedules to run now, in order of their times."""
        return self.waiting().filter(due_at__lte=timezone.now()).order_by("run_at", "pk")

    def failed_lately(self) -> Self:
        """Filter schedules that failed in the last days, which pages still show."""
        since = timezone.now() - SHOWN_FOR
        return self.filter(state__in=(ScheduleState.FAILED, ScheduleState.MISSED), executed_at__gte=since)

    def of_resources(self) -> Self:
        """Filter schedules of a single resource."""
        return self.filter(release_id=None)

    def of_releases(self) -> Self:
        """Filter schedules of a release."""
        return self.exclude(release_id=None)

    def workspaces(self) -> list[Owner]:
        """Return the workspaces of the schedules, without duplicates, in the order of their first times."""
        first = self.order_by().values_list("workspace").annotate(first=Min("run_at"))
        return list(first.order_by("first", "workspace").values_list("workspace"))

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction.

        A beginning is locked before its end, to prevent deadlocks.
        """
        return self.select_for_update(of=("self",)).order_by("run_at", "pk")

    def covered_by(self, caller: Caller) -> Self:
        """Filter by the schedules within the limits of the caller's key."""
        if not caller.id_prefix:
            return self
        releases = Release.objects.covered_by(caller).values("pk")
        of_resource = models.Q(release_id=None) & covered_by(caller, "resource_id")
        return self.filter(of_resource | models.Q(release_id__in=releases))

    def of_items(self, release_id: UUID) -> Self:
        """Filter schedules of single resources that are in a release."""
        resource = {name: models.OuterRef(name) for name in ("kind", "resource_id", "identity")}
        items = ReleaseItem.objects.filter(release=release_id, **resource)
        return self.of_resources().filter(models.Exists(items))

    def about(self, resource: Target) -> Self:
        """Filter by resource."""
        return self.filter(kind=resource.kind, resource_id=resource.id, identity=resource.identity)


class Schedule(models.Model):
    """A planned publication or unpublication. The record stays afterwards.

    It is about a resource, distinguished from a later one with the same id as in the log, or about a release.
    """

    work_name = "schedules"
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32, blank=True)
    """The slug of the kind of the resource; empty for a release."""
    resource_id = models.CharField(max_length=200, blank=True)
    identity = models.UUIDField(null=True)
    release_id = models.UUIDField(null=True)
    action = models.CharField(max_length=16, choices=Action, default=Action.PUBLISH)
    version_id = models.CharField(max_length=80, blank=True)
    version_number = models.PositiveIntegerField(null=True)
    expects = models.JSONField(default=dict)
    """The expected live versions at that time: version ids, or null for none, by `<kind>/<id>`."""
    force = models.BooleanField(default=False)
    """Whether it runs even if other versions are live by then."""
    run_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, db_index=True)
    """The next time for a worker: its own time, or later after a fault; null after the end."""
    local_time = models.CharField(max_length=16, blank=True)
    """The given local time; empty if it was given in UTC."""
    time_zone = models.CharField(max_length=MAX_NAME, blank=True)
    is_ambiguous = models.BooleanField(default=False)
    """Whether the local time exists twice, so that this is the first of the two."""
    follows = models.OneToOneField("self", null=True, on_delete=models.SET_NULL, related_name="followed_by")
    """The schedule that begins the pair which this one ends."""
    state = models.CharField(max_length=16, choices=ScheduleState, default=ScheduleState.SCHEDULED)
    code = models.CharField(max_length=64, blank=True)
    """Why it failed, for programs."""
    problem = MessageField(blank=True)
    """Why it failed, in a sentence."""
    known_problems = models.TextField(blank=True, default="", db_default="")
    """The codes of the problems in its author's last notification: sorted, separated by blanks."""
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    """The author, and the caller it runs as."""
    author_name = models.TextField(blank=True)
    """The user name at the time, which outlives the account. Empty for the application."""
    key_prefix = models.CharField(max_length=PREFIX_LENGTH, blank=True, default="", db_default="")
    """The API key of the author that made it, within whose limits it runs. Empty without one."""
    created_at = models.DateTimeField(default=timezone.now)
    executed_at = models.DateTimeField(null=True)

    problems: Sequence[Problem] = ()
    """The problems that would prevent it now, set by `judging`."""

    objects = ScheduleQuerySet.as_manager()

    if TYPE_CHECKING:
        follows_id: UUID | None
        followed_by: Schedule

    class Meta:
        ordering = ["-run_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="schedule_of_resource_or_release",
                condition=models.Q(release_id=None, identity__isnull=False)
                | models.Q(release_id__isnull=False, identity=None, resource_id="", kind=""),
            ),
            models.CheckConstraint(
                name="schedule_due_while_scheduled",
                condition=models.Q(state=ScheduleState.SCHEDULED, due_at__isnull=False)
                | (~models.Q(state=ScheduleState.SCHEDULED) & models.Q(due_at=None)),
            ),
        ]
        indexes = [
            models.Index(name="schedule_of_workspace", fields=["workspace", "run_at"]),
            models.Index(name="schedule_of_resource", fields=["identity", "resource_id"]),
            models.Index(name="schedule_of_release", fields=["release_id"]),
        ]

    def __str__(self) -> str:
        about = f"release {self.release_id}" if self.release_id else f"{self.kind} {self.resource_id}"
        return f"{self.action} {about} at {self.run_at:%Y-%m-%d %H:%M} UTC"

    @property
    def target(self) -> Target | None:
        """The log's reference to the resource; None for a release."""
        if self.identity is None:
            return None
        return Target(
            kind=self.kind,
            id=self.resource_id,
            identity=self.identity,
            workspace_id=self.workspace_id,
            reach=Reach.EDITORS,
        )

    @property
    def resource_kind(self) -> str:
        """The kind, under the name that it has in events."""
        return self.kind

    @property
    def expected_version_id(self) -> str | None:
        """The resource's version that it expects to be live; None for none, and for a release."""
        version_id: str | None = self.expects.get(self.reference)
        return version_id

    @property
    def reference(self) -> str:
        """The resource as named in `expects`."""
        return f"{self.kind}/{self.resource_id}"

    def is_unexpected(self, reference: str, live: str | None) -> bool:
        """Return whether another version of a resource is live than expected, so that it does not run."""
        return not self.force and self.expects.get(reference) != live

    @property
    def paired_with(self) -> UUID | None:
        """The other schedule of a pair."""
        ends = self.end_of_pair
        return ends.pk if ends is not None else self.follows_id

    @property
    def then(self) -> PinnedVersion | None:
        """The version that is live again after this one."""
        ends = self.end_of_pair
        return PinnedVersion(ends.version_id, ends.version_number) if ends is not None else None

    @property
    def end_of_pair(self) -> Schedule | None:
        """The schedule that ends the pair which this one begins; lists select it with the row."""
        try:
            return self.followed_by
        except Schedule.DoesNotExist:
            return None

    @property
    def problem_codes(self) -> str:
        """The codes of its problems, as `known_problems` stores them."""
        return " ".join(sorted({problem.code for problem in self.problems}))

    def set_time(self, when: When) -> None:
        """Set its time."""
        self.run_at = self.due_at = when.run_at
        self.local_time, self.time_zone = when.local_time, when.time_zone
        self.is_ambiguous = when.is_ambiguous

    def run_as(self, by: Caller) -> None:
        """Set the author: a person or the application, within the limits of the caller's key."""
        self.author_id, self.author_name = by.user_id, by.username or ""
        self.key_prefix = by.key_prefix or ""

    def end(self, state: ScheduleState, **changes: Any) -> None:
        """Store that it ended; raises `NotWaiting` if it already ended, or has another time or author now.

        In the same transaction as its action, this makes it run once, even if several workers try.
        """
        self.state, self.due_at, self.executed_at = state, None, timezone.now()
        columns = {"state": state, "due_at": None, "executed_at": self.executed_at, **changes}
        if not self._still_waiting().update(**columns):
            raise NotWaiting

    def fail(self, by: Caller, code: str, problem: str, state: ScheduleState = ScheduleState.FAILED) -> None:
        """Store and record the failure with its reason; raises as `end` does."""
        self.end(state, code=code, problem=problem)
        self.record("failed", by, code=code)

    def refuse_ended(self) -> None:
        """Raise `NotWaiting` as `end` would, to avoid useless work."""
        if not self._still_waiting().exists():
            raise NotWaiting

    def _still_waiting(self) -> ScheduleQuerySet:
        names = ("run_at", "author_id", "author_name", "key_prefix")
        same = {name: getattr(self, name) for name in names}
        return type(self).objects.waiting().filter(pk=self.pk, **same)

    def postpone(self, wait: datetime.timedelta) -> None:
        """Let workers try it again after a while, unless it has another time now."""
        self._still_waiting().update(due_at=timezone.now() + wait)

    @property
    def unattended_caller(self) -> Caller:
        """The caller in the log if it fails: its author, who is notified."""
        return replace(APPLICATION, username=self.author_name or None, via=Via.SCHEDULE)

    def record(self, change: str, by: Caller, **detail: Any) -> None:
        """Record a change of the schedule in the log."""
        about: dict[str, Any] = {"scheduleId": str(self.pk), "action": self.action, **detail}
        if self.author_name:
            about["createdBy"] = self.author_name
        if self.key_prefix:
            about["createdByKey"] = self.key_prefix
        if self.release_id is not None:
            about["releaseId"] = str(self.release_id)
        events.record(
            f"schedule.{change}",
            by=by,
            workspace_id=self.workspace_id,
            resource=self.target,
            version=PinnedVersion(self.version_id, self.version_number) if self.version_id else None,
            **about,
        )


PERSONAL_DATA: Final = (
    names_in("schedules.Schedule", "author_name"),
    sentences_in("schedules.Schedule", "problem"),
)
