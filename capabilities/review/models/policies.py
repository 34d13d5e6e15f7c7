"""The policy of a workspace, and the history that the rule needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.db import models

from capabilities.review.about import AboutResource, AboutResourceQuerySet, columns_about
from versioning.domain.events import Target
from versioning.models import Workspace

MAX_REQUIRED: Final = 5


class Bypass(models.TextChoices):
    """Who may publish a version without the required approvals."""

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


class PublishedQuerySet(AboutResourceQuerySet["PublishedConfiguration"]):
    """Queries for configurations that were live."""

    def forget_numbers(self, resource: Target) -> None:
        """Remember only which configurations of a resource were live, without their version numbers."""
        numbered = self.about(resource).exclude(number=0)
        moments: defaultdict[str, list[str]] = defaultdict(list)
        for digest, named in numbered.values_list("digest", "named"):
            moments[digest].append(named)
        if not moments:
            return
        numbered.delete()
        rows = [
            self.model(**columns_about(resource), digest=digest, named=_together(named))
            for digest, named in moments.items()
        ]
        of_one = ["identity", "resource_id", "kind", "digest", "number"]
        self.bulk_create(rows, update_conflicts=True, unique_fields=of_one, update_fields=["named"])


class PublishedConfiguration(AboutResource):
    """A configuration that was published at some time, with the number of its version.

    With the resources that it named, it needs no approval again; and the number bounds which authors count
    for later versions. The log can be pruned and a version deleted, so neither is reliable.
    """

    digest = models.CharField(max_length=64)
    """The digest of the configuration; empty if only the number is known."""
    number = models.PositiveIntegerField(default=0, db_default=0)
    """The number of the version; 0 if the editor has not numbered it, as for a commit."""
    named = models.TextField(default="", db_default="")
    """The resources that it named when it was last published; see `capabilities.review.policy.recording`."""

    objects = PublishedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="published_configuration_once",
                fields=["identity", "resource_id", "kind", "digest", "number"],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id}: {self.digest}"


class OtherAuthor(AboutResource):
    """An author of a version whom no row of the version names.

    Such are the authors of deleted versions, and those whose suggested wording another person accepted. They
    count as authors of what is under review. The log has only names, which change, and it can be pruned.
    """

    number = models.PositiveIntegerField()
    """The number of the version; 0 if the numbers of its resource have restarted from 1 since."""
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    suggestion = models.UUIDField(null=True)
    """The comment with the accepted wording, which may be deleted; null for a deleted version."""

    objects = AboutResourceQuerySet.as_manager()

    class Meta:
        db_table = "review_deletedversion"
        indexes = [models.Index(name="deleted_version_of", fields=["identity", "resource_id", "number"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id}, version {self.number}"


def _together(moments: Iterable[str]) -> str:
    """Return as one text what a configuration named at several moments.

    This admits no replacement with the same id: a replaced resource is never named again.
    """
    return " ".join(sorted({one for named in moments for one in named.split()}))
