"""The policy of a workspace, and what the rule has to know of the past."""

from __future__ import annotations

from typing import Final

from django.db import models

from review.about import AboutResource, AboutResourceQuerySet
from versioning.models import Workspace

MAX_REQUIRED: Final = 5


class Bypass(models.TextChoices):
    """Who may make a version live without the approvals that it needs."""

    ADMIN = "admin"
    NOBODY = "nobody"


class ReviewPolicy(models.Model):
    """How many approvals a version needs; a workspace without a row has the defaults, and needs none."""

    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE, related_name="+", primary_key=True)
    required = models.PositiveSmallIntegerField(default=0)
    bypass = models.CharField(max_length=16, choices=Bypass.choices, default=Bypass.ADMIN)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="review_policy_required_in_range", condition=models.Q(required__lte=MAX_REQUIRED)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workspace_id}: {self.required}"


class PublishedConfiguration(AboutResource):
    """A configuration that was the published one of a resource at some time: it needs no approval again.

    The log can be pruned and a version deleted, so neither can tell.
    """

    digest = models.CharField(max_length=64)

    objects = AboutResourceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="published_configuration_once", fields=["identity", "resource_id", "kind", "digest"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id}: {self.digest}"
