"""The model of schedules."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Min
from django.utils import timezone

from schedules.refusals import Problem
from schedules.times import When
from versioning.domain.access import Caller
from versioning.domain.errors import Message
from versioning.domain.events import Reach, Target
from versioning.models import Workspace, events
from versioning.models.due_work import Owner

MAX_ZONE: Final = 64
SHOWN_FOR: Final = datetime.timedelta(days=7)
"""How long pages say that something failed."""


class State(models.TextChoices):
    """What has become of a schedule."""

    SCHEDULED = "scheduled"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    MISSED = "missed"


class Action(models.TextChoices):
    """What is to happen."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"


class NotWaiting(Exception):
    """A schedule is over already, or for another time."""


class PinnedVersion(NamedTuple):
    """The version that a schedule is about, which may have been deleted since."""

    version_id: str
    number: int | None


class MessageField(models.TextField):  # type: ignore[type-arg]
    """A message; one with values is stored as its template and them, so that pages can translate it."""

    def deconstruct(self) -> Any:
        """Return it as the text that it is in the database, so that it needs no migration."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        """Return the text to store."""
        if not isinstance(value, Message) or not value.values:
            return super().get_prep_value(value)
        return json.dumps(_parts_of(value))

    def from_db_value(self, value: str | None, *_of: Any) -> str | None:
        """Return what was stored; earlier releases stored every message as plain text."""
        if value is None or not value.startswith('{"template": '):
            return value
        found: str = _message_of(json.loads(value))
        return found


def _parts_of(value: Any) -> Any:
    if not isinstance(value, Message):
        return value
    return {
        "template": value.template,
        "values": {name: _parts_of(one) for name, one in value.values.items()},
    }


def _message_of(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    return Message(stored["template"], **{name: _message_of(one) for name, one in stored["values"].items()})


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    """Queries for schedules."""

    def waiting(self) -> Self:
        """Filter those that are still to run."""
        return self.filter(state=State.SCHEDULED)

    def due(self) -> Self:
        """Return those that are to run now, in the order of their times."""
        return self.waiting().filter(due_at__lte=timezone.now()).order_by("run_at", "pk")

    def failed_lately(self) -> Self:
        """Filter those that did not happen in the last days, of which pages still tell."""
        since = timezone.now() - SHOWN_FOR
        return self.filter(state__in=(State.FAILED, State.MISSED), executed_at__gte=since)

    def of_resources(self) -> Self:
        """Filter those about a single resource."""
        return self.filter(release_id=None)

    def of_releases(self) -> Self:
        """Filter those about a release."""
        return self.exclude(release_id=None)

    def workspaces(self) -> list[Owner]:
        """Return the workspaces of the schedules, each once, in the order of their first times."""
        first = self.order_by().values_list("workspace").annotate(first=Min("run_at"))
        return list(first.order_by("first", "workspace").values_list("workspace"))

    def locked(self) -> Self:
        """Lock the rows until the end of the transaction.

        A beginning is locked before its end, so that no two transactions wait for each other.
        """
        return self.select_for_update(of=("self",)).order_by("run_at", "pk")

    def with_pairs(self) -> Self:
        """Select each with the schedule that ends what it begins."""
        return self.select_related("followed_by")

    def about(self, resource: Target) -> Self:
        """Filter by resource."""
        return self.filter(kind=resource.kind, resource_id=resource.id, identity=resource.identity)


class Schedule(models.Model):
    """Something that is to go live, or to go off, at a time. The record stays when that is over.

    It is about a resource, told apart from a later one with the same id as in the log, or about a release.
    """

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
    """What is live, or is to be live, until then: version ids, or null for nothing, by `<kind>/<id>`."""
    force = models.BooleanField(default=False)
    """Whether it runs with anything else live by then."""
    run_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, db_index=True)
    """When a worker is to look at it next: at that time, or later after a fault; null when it is over."""
    local_time = models.CharField(max_length=16, blank=True)
    """The local time that was named; empty if it was named in UTC."""
    time_zone = models.CharField(max_length=MAX_ZONE, blank=True)
    is_ambiguous = models.BooleanField(default=False)
    """Whether the local time exists twice, so that this is the first of the two."""
    follows = models.OneToOneField("self", null=True, on_delete=models.SET_NULL, related_name="followed_by")
    """The schedule that begins what this one ends."""
    state = models.CharField(max_length=16, choices=State, default=State.SCHEDULED)
    code = models.CharField(max_length=64, blank=True)
    """Why it failed, for programs."""
    problem = MessageField(blank=True)
    """Why it failed, in a sentence."""
    known_problems = models.TextField(blank=True, default="", db_default="")
    """The codes of what would keep it from happening, as its author was told last: sorted, with blanks."""
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    """Who made it, and as whom it runs."""
    author_name = models.TextField(blank=True)
    """The user name at the time: it outlives the account. Empty for the application."""
    created_at = models.DateTimeField(default=timezone.now)
    executed_at = models.DateTimeField(null=True)

    problems: Sequence[Problem] = ()
    """What would keep it from happening now, once `judging` was asked."""

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
                condition=models.Q(state=State.SCHEDULED, due_at__isnull=False)
                | (~models.Q(state=State.SCHEDULED) & models.Q(due_at=None)),
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
    def expected_version_id(self) -> str | None:
        """The version of the resource that it expects to be live; None for none, and for a release."""
        found: str | None = self.expects.get(self.reference)
        return found

    @property
    def reference(self) -> str:
        """The resource, as `expects` names it."""
        return f"{self.kind}/{self.resource_id}"

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
        """The schedule that ends what this one begins; lists select it with the row."""
        try:
            return self.followed_by
        except Schedule.DoesNotExist:
            return None

    def set_time(self, when: When) -> None:
        """Set when it runs."""
        self.run_at = self.due_at = when.run_at
        self.local_time, self.time_zone = when.local_time, when.time_zone
        self.is_ambiguous = when.is_ambiguous

    def end(self, state: State, **changes: Any) -> None:
        """Store that it is over; raises `NotWaiting` if it is over, or has another time or author by now.

        In the transaction of what it does, this makes it happen once, whatever other workers try.
        """
        self.state, self.due_at, self.executed_at = state, None, timezone.now()
        stored = {"state": state, "due_at": None, "executed_at": self.executed_at, **changes}
        if not self._still_waiting().update(**stored):
            raise NotWaiting

    def refuse_ended(self) -> None:
        """Raise `NotWaiting` as `end` would, before anything is done in vain."""
        if not self._still_waiting().exists():
            raise NotWaiting

    def _still_waiting(self) -> ScheduleQuerySet:
        same = {"run_at": self.run_at, "author_id": self.author_id, "author_name": self.author_name}
        return type(self).objects.waiting().filter(pk=self.pk, **same)

    def postpone(self, wait: datetime.timedelta) -> None:
        """Let workers look at it again after a while, unless it is for another time now."""
        self._still_waiting().update(due_at=timezone.now() + wait)

    def record(self, what: str, by: Caller, **detail: Any) -> None:
        """Record a change of the schedule in the log."""
        about: dict[str, Any] = {"scheduleId": str(self.pk), "action": self.action, **detail}
        if self.author_name:
            about["createdBy"] = self.author_name
        if self.release_id is not None:
            about["releaseId"] = str(self.release_id)
        events.record(
            f"schedule.{what}",
            by=by,
            workspace_id=self.workspace_id,
            resource=self.target,
            version=PinnedVersion(self.version_id, self.version_number) if self.version_id else None,
            **about,
        )
