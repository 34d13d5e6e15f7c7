"""Reviews and verdicts."""

from __future__ import annotations

from typing import Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from review.about import AboutResource, AboutResourceQuerySet
from versioning.models import Workspace


class ReviewQuerySet(AboutResourceQuerySet):
    """Queries for reviews."""

    def open(self) -> Self:
        """Filter those that are neither published nor closed."""
        return self.filter(published_at=None, closed_at=None)


class Review(AboutResource):
    """Somebody has asked others to look at a version. At most one is open for each resource."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    version_id = models.CharField(max_length=80)
    """The version under review, as callers write it; it may have been deleted since."""
    version_number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    """That of the version's configuration."""
    base_version_id = models.CharField(max_length=80, blank=True)
    """The version that was live when the review was asked for; empty if none was."""
    message = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The user name at the time: it outlives the account. Empty for the application."""
    reviewers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    """Who was asked."""
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

    def __str__(self) -> str:
        return f"review of {self.kind} {self.resource_id}, version {self.version_number}"


class Judgement(models.TextChoices):
    """What a person says of a version."""

    APPROVE = "approve"
    REQUEST_CHANGES = "requestChanges"
    WITHDRAW = "withdraw"


class Verdict(AboutResource):
    """What a person has said of a configuration. It counts for the configuration, whatever its version."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="verdicts")
    version_id = models.CharField(max_length=80)
    version_number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    """Who says it; null if the account is gone, and then the verdict counts no more."""
    author_name = models.TextField()
    verdict = models.CharField(max_length=16, choices=Judgement.choices)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = AboutResourceQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(name="verdict_on_configuration", fields=["identity", "digest"]),
        ]

    def __str__(self) -> str:
        return f"{self.author_name}: {self.verdict}"
