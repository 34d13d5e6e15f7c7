"""Per-person data of the studio: preferences, saved filters, examples of contexts, and open edit pages.

None of it is versioned or logged: it does not affect served versions.
"""

from __future__ import annotations

import datetime
from typing import Any, Final, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.utils import timezone
from editor_client.shared import canonical

from versioning.domain.access import Right, roles_with
from versioning.domain.zones import MAX_NAME
from versioning.models import Membership
from versioning.models.text_keys import ByName

PRESENT: Final = datetime.timedelta(minutes=2)
"""The time for which a person counts as present after the last sign of an open page."""
NOTED: Final = datetime.timedelta(seconds=55)
"""The age of that sign before a new one is written."""


class Density(models.TextChoices):
    COMFORTABLE = "comfortable"
    COMPACT = "compact"


class PreferencesQuerySet(models.QuerySet["Preferences"]):
    def of(self, user_id: Any) -> Preferences:
        """Return a person's preferences; unsaved defaults if there are none."""
        preferences = self.filter(user_id=user_id).first()
        return preferences if preferences is not None else Preferences(user_id=user_id)

    def change(self, user_id: Any, **changes: Any) -> None:
        self.update_or_create(user_id=user_id, defaults=changes)


class Preferences(models.Model):
    """A person's preferences for the studio. A person without a row has the defaults."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", primary_key=True
    )
    language = models.CharField(max_length=16, blank=True)
    """The code of a language of the studio, `studio.preferences.LANGUAGES`; empty to follow the browser."""
    time_zone = models.CharField(max_length=MAX_NAME, blank=True)
    """The name of the time zone of all pages; empty to follow the browser."""
    density = models.CharField(max_length=16, choices=Density.choices, default=Density.COMFORTABLE)
    single_keys = models.BooleanField(default=True, db_default=True)
    """Whether single letters and signs are keyboard shortcuts (WCAG 2.1.4)."""
    tour_dismissed = models.BooleanField(default=False)
    """Whether the introduction of the first visit was dismissed."""
    seen_position = models.PositiveBigIntegerField(default=0)
    """The log position up to which they have seen their notifications; 0 if they never have."""
    recent = models.JSONField(default=list)
    """The resources opened last, the latest first: lists of a kind's slug, an id, and a time in ISO 8601."""

    objects = PreferencesQuerySet.as_manager()

    def __str__(self) -> str:
        return f"preferences of {self.user}"


class SavedFilterQuerySet(models.QuerySet["SavedFilter"]):
    def of(self, user_id: Any, kind: str) -> Self:
        """Filter by person and by the slug of a kind (`agent`, `promptBlock`), ordered by name."""
        return self.filter(user_id=user_id, kind=kind).order_by(ByName("name"), "pk")


MAX_FILTER_NAME: Final = 80
MAX_QUERY: Final = 2_000


class SavedFilter(models.Model):
    """A person's named filter of a list. Others do not see it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    """The slug of the kind whose list it filters."""
    name = models.CharField(max_length=MAX_FILTER_NAME)
    query = models.CharField(max_length=MAX_QUERY)
    """The query string of the list, without the page."""

    objects = SavedFilterQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="saved_filter_named_once", fields=["user", "kind", "name"]),
        ]

    def __str__(self) -> str:
        return self.name


class ExampleQuerySet(models.QuerySet["Example"]):
    def about(self, kind: str, resource_id: str, identity: UUID) -> Self:
        """Filter by resource, ordered by name."""
        examples = self.filter(kind=kind, resource_id=resource_id, identity=identity)
        return examples.order_by(ByName("name"), "pk")


MAX_EXAMPLE_NAME: Final = 80


class Example(models.Model):
    """A context for trying out a resource, with a name, such as "Gold customer".

    Everyone who can read the drafts of the resource sees it. There is no foreign key to the resource, because
    an agent that only code defines has no row; when a row is deleted, its examples are also deleted
    (`studio.examples`).
    """

    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    identity = models.UUIDField()
    """Distinguishes the resource from a later one with the same id; `IN_CODE` for a code-defined agent."""
    name = models.CharField(max_length=MAX_EXAMPLE_NAME)
    context_json = models.TextField(default="{}")
    """The request context, a JSON object, in one line."""
    revision = models.PositiveIntegerField(default=1)
    """Counts the changes, so that no unseen change is overwritten."""
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    updated_at = models.DateTimeField(auto_now=True)

    objects = ExampleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="example_named_once", fields=["kind", "resource_id", "identity", "name"]
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def context(self) -> dict[str, Any]:
        context: dict[str, Any] = canonical.parse(self.context_json)
        return context


class PresenceQuerySet(models.QuerySet["Presence"]):
    def about_others(self, user_id: Any, **resource: Any) -> Self:
        """Filter by resource, without this person, in order of arrival, with the accounts.

        People who can no longer save there are excluded.
        """
        members = Membership.objects.filter(
            user=models.OuterRef("user"),
            workspace=models.OuterRef("workspace_id"),
            role__in=roles_with(Right.SAVE),
        )
        may_save = models.Q(user__is_superuser=True) | models.Exists(members)
        rows = self.filter(may_save, user__is_active=True, seen_at__gt=timezone.now() - PRESENT, **resource)
        rows = rows.exclude(user_id=user_id)
        return rows.select_related("user").order_by("since", "pk")

    def note(self, user_id: Any, **resource: Any) -> None:
        """Record that a person has the edit page of a resource open; writes at most once in `NOTED`."""
        now = timezone.now()
        row = self.filter(user_id=user_id, **resource).first()
        if row is None or row.seen_at <= now - PRESENT:
            # Rows of closed pages are deleted, so that no person has many rows.
            self.filter(user_id=user_id, seen_at__lte=now - PRESENT).delete()
            self.update_or_create(user_id=user_id, **resource, defaults={"since": now, "seen_at": now})
        elif row.seen_at <= now - NOTED:
            self.filter(pk=row.pk).update(seen_at=now)


class Presence(models.Model):
    """A person who has the edit page of a resource open. Rows that are not renewed expire."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    workspace_id = models.CharField(max_length=200)
    """The workspace of the resource: another one may have the same id later."""
    since = models.DateTimeField()
    seen_at = models.DateTimeField()

    objects = PresenceQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(name="present_at", fields=["kind", "resource_id", "seen_at"])]
        constraints = [
            models.UniqueConstraint(
                name="present_once", fields=["user", "kind", "resource_id", "workspace_id"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.kind} {self.resource_id}"
