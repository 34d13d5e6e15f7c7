"""Releases and their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.models import Workspace, events
from versioning.models.followers import Follower
from versioning.models.querysets import covered_by, within
from versioning.models.rules import LimitedText

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models.fields.related_descriptors import RelatedManager

MAX_TITLE: Final = 200
MAX_DESCRIPTION: Final = 10_000
MAX_ITEMS: Final = 200


class ReleaseState(models.TextChoices):
    """The state of a release."""

    DRAFT = "draft", pgettext_lazy("a release", "Draft")
    PUBLISHED = "published", pgettext_lazy("a release", "Published")
    REVERTED = "reverted", pgettext_lazy("a release", "Reverted")
    """It was published, and then reverted by another published release."""


class Action(models.TextChoices):
    """The effect of a release on a resource."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"


class ReleaseQuerySet(models.QuerySet["Release"]):
    """Queries for releases."""

    def readable_by(self, caller: Caller) -> Self:
        """Filter by the releases of workspaces whose drafts the caller may read."""
        return self.covered_by(caller).filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))

    def covered_by(self, caller: Caller) -> Self:
        """Filter by the releases without items outside the limits of the caller's key."""
        if not caller.id_prefix:
            return self
        release_url = ReleaseItem.objects.filter(release=models.OuterRef("pk"))
        return self.exclude(models.Exists(release_url.exclude(covered_by(caller, "resource_id"))))

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction."""
        return self.select_for_update(of=("self",), no_key=True)

    def with_people(self) -> Self:
        """Select the releases with their author and publisher."""
        return self.select_related("created_by", "published_by")


class Release(models.Model):
    """Several resources of a workspace that are published together."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    title = models.CharField(max_length=MAX_TITLE)
    description = LimitedText(max_length=MAX_DESCRIPTION, blank=True)
    state = models.CharField(max_length=16, choices=ReleaseState, default=ReleaseState.DRAFT)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    published_at = models.DateTimeField(null=True, editable=False)
    reverts = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    """The release that this one reverts."""
    revision = models.PositiveIntegerField(default=0, editable=False)
    """Counts every change of the release, for `If-Match`."""

    if TYPE_CHECKING:
        items: RelatedManager[ReleaseItem]
        reverts_id: UUID | None

    deleted_by: Caller = APPLICATION
    """The person who deletes it; the application if its workspace is deleted."""

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [models.Index(name="release_of_workspace", fields=["workspace", "-created_at"])]
        constraints = [
            models.CheckConstraint(
                name="release_published_at_known",
                condition=models.Q(state=ReleaseState.DRAFT, published_at=None)
                | (~models.Q(state=ReleaseState.DRAFT) & models.Q(published_at__isnull=False)),
            )
        ]

    def __str__(self) -> str:
        return self.title

    def record(self, change: str, by: Caller, **detail: Any) -> None:
        """Record a change of the release in the log."""
        about = {"releaseId": str(self.pk), **detail}
        events.record(f"release.{change}", by=by, workspace_id=self.workspace_id, **about)


def record_end_of_release(instance: Release, **_signal: Any) -> None:
    """Record that a release is deleted."""
    with events.transaction():
        instance.record("deleted", instance.deleted_by)


FOLLOWER: Final = Follower(call=record_end_of_release, rows="releases.Release", before=True)


class ReleaseItem(models.Model):
    """A resource in a release, and its action."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="items")
    place = models.PositiveSmallIntegerField()
    """The position among the items, in the caller's order."""
    kind = models.CharField(max_length=32)
    """The slug of the kind of the resource."""
    resource_id = models.CharField(max_length=200)
    identity = models.UUIDField()
    """Distinguishes the resource from a later one with the same id."""
    action = models.CharField(max_length=16, choices=Action)
    version_id = models.UUIDField(null=True)
    """The version to publish. It may have been deleted since."""
    version_number = models.PositiveIntegerField(null=True)
    active_before = models.UUIDField(null=True)
    """The version that was live when the release was published; null if none was, or for a draft."""

    class Meta:
        ordering = ["release", "place"]
        constraints = [
            models.UniqueConstraint(name="release_item_once", fields=["release", "kind", "resource_id"]),
            models.CheckConstraint(
                name="release_item_version_to_publish",
                condition=models.Q(action=Action.UNPUBLISH, version_id=None)
                | models.Q(action=Action.PUBLISH, version_id__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="release_item_version", fields=["version_id"]),
            models.Index(name="release_item_resource", fields=["resource_id", "kind"]),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.kind} {self.resource_id}"
