"""Reviews and verdicts."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Final, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from capabilities.review.about import AboutResource, AboutResourceQuerySet
from versioning.domain.access import Caller
from versioning.domain.events import Target, VersionName
from versioning.models import Workspace, events

NOT_IN_A_ROW: Final = ("git-", "file-")
"""The prefixes of version ids that no row has."""


class ReviewQuerySet(AboutResourceQuerySet["Review"]):
    """Queries for reviews."""

    def open(self) -> Self:
        """Filter reviews that are neither published nor closed."""
        return self.filter(published_at=None, closed_at=None)

    def open_about(self, resources: Iterable[Target]) -> Mapping[tuple[str, str, UUID], UUID]:
        """Return the ids of the open reviews of resources, by kind, id and identity; in one statement."""
        wanted = {(resource.kind, resource.id, resource.identity) for resource in resources}
        rows = self.open().filter(
            resource_id__in={resource_id for _, resource_id, _ in wanted},
            identity__in={identity for _, _, identity in wanted},
        )
        columns = rows.order_by().values_list("kind", "resource_id", "identity", "pk")
        return {about: pk for *key, pk in columns if (about := tuple(key)) in wanted}

    def went_live(self, resource: Target, digest: str) -> None:
        """End the open review of this configuration, which has become the active one of its resource.

        Called in the transaction that publishes, which has locked the resource.
        """
        self.open().about(resource).filter(digest=digest).update(published_at=timezone.now())


class Review(AboutResource):
    """A request to review a version. At most one is open for each resource."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    version_id = models.CharField(max_length=80)
    """The version under review, in external form; it may have been deleted since."""
    version_number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    """The digest of the version's configuration."""
    base_version_id = models.CharField(max_length=80, blank=True)
    """The version that was live when the review was requested; empty if none was."""
    message = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The user name at the time, which outlives the account. Empty for the application."""
    reviewers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    """The requested reviewers."""
    created_at = models.DateTimeField(default=timezone.now)
    published_at = models.DateTimeField(null=True)
    """When its configuration went live."""
    closed_at = models.DateTimeField(null=True)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                name="review_open_once",
                fields=["identity", "resource_id", "kind"],
                condition=models.Q(published_at=None, closed_at=None),
            ),
        ]
        indexes = [
            models.Index(name="review_about", fields=["resource_id", "kind", "created_at"]),
        ]

    def __str__(self) -> str:
        return f"review of {self.kind} {self.resource_id}, version {self.version_number}"

    def close(self, resource: Target, version: VersionName | None, by: Caller) -> None:
        """Close it without publishing its version, and record that; within a transaction."""
        self.closed_at = timezone.now()
        self.save(update_fields=["closed_at"])
        events.record(
            "review.closed",
            by=by,
            workspace_id=self.workspace_id,
            resource=resource,
            version=version,
            reviewId=str(self.pk),
        )

    @property
    def ended_at(self) -> datetime.datetime | None:
        """When it was published or closed; None while it is open."""
        return self.closed_at or self.published_at

    @property
    def is_in_git(self) -> bool:
        """Whether the version under review is or was in an override file, and so has no row."""
        return self.version_id.startswith(NOT_IN_A_ROW)


class VerdictValue(models.TextChoices):
    """The possible verdicts on a version."""

    APPROVE = "approve"
    REQUEST_CHANGES = "requestChanges"
    WITHDRAW = "withdraw"


class VerdictQuerySet(AboutResourceQuerySet["Verdict"]):
    """Queries for verdicts."""

    def on_configuration_of(self, review: Review) -> Self:
        """Filter by the current configuration of a review, no matter in which review they were given."""
        return self.filter(
            kind=review.kind,
            resource_id=review.resource_id,
            identity=review.identity,
            digest=review.digest,
        )


class Verdict(AboutResource):
    """A person's verdict on a configuration. It counts for the configuration, in any version."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="verdicts")
    version_id = models.CharField(max_length=80)
    version_number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    named = models.TextField(default="", db_default="")
    """The resources that the configuration named at this moment; see `review.policy.recording`."""
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    """The author; null if the account is gone, and then the verdict no longer counts."""
    author_name = models.TextField()
    verdict = models.CharField(max_length=16, choices=VerdictValue.choices)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = VerdictQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(name="verdict_on_configuration", fields=["identity", "digest"]),
        ]

    def __str__(self) -> str:
        return f"{self.author_name}: {self.verdict}"
