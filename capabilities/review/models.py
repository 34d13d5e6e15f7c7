"""Reviews and verdicts, review policies, comments, and people's visits to reviews."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final, Self, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from versioning.domain.access import Caller
from versioning.domain.events import Target, VersionName
from versioning.domain.kinds import KINDS
from versioning.domain.overrides import IN_CODE
from versioning.domain.texts import MAX_QUOTE, clip
from versioning.models import Workspace, events
from versioning.models.personal_data import names_in, rows_of_person
from versioning.models.rules import LimitedText
from versioning.models.versioned import find_model

R = TypeVar("R", bound=models.Model)
MAX_TEXT: Final = 10_000
"""The maximum length of a message to reviewers, and of a verdict's text."""
MAX_BODY: Final = 10_000
"""The maximum length of a comment."""


def columns_about(resource: Target) -> dict[str, Any]:
    """Return the columns of a row about a resource."""
    return {"kind": resource.kind, "resource_id": resource.id, "identity": resource.identity}


class AboutResourceQuerySet(models.QuerySet[R]):
    """Queries for rows about a resource."""

    def about(self, resource: Target) -> Self:
        """Filter by resource."""
        return self.filter(**columns_about(resource))


class AboutResource(models.Model):
    """A row about a resource.

    There is no foreign key to the resource, because an override may have no row. The three fields are those
    of the log's `Target`, so that an override keeps its rows when it is deleted and created again.
    """

    kind = models.CharField(max_length=32)
    """The slug of its kind, as everywhere in the API."""
    resource_id = models.CharField(max_length=200)
    identity = models.UUIDField()
    """Distinguishes the resource from a later one with the same id; `IN_CODE` for a code-defined agent."""

    class Meta:
        abstract = True


def about_own_work(caller: Caller, *, kind: str = "kind", identity: str = "identity") -> Q:
    """Return the condition that a row is about a resource whose newest version the person saved.

    `kind` and `identity` are the names of its columns.
    """

    def of_kind(slug: str, rows: Any) -> Q:
        own_rows = rows.filter(latest_version__author=caller.user_id).order_by()
        in_row = Q(Exists(own_rows.filter(uuid=OuterRef(identity))))
        override = Q(Exists(own_rows.filter(pk=OuterRef("resource_id"))), **{identity: IN_CODE})
        return Q(in_row | override, **{kind: slug})

    return reduce(or_, (of_kind(kind.slug, find_model(kind)._default_manager.all()) for kind in KINDS))


MAX_REQUIRED: Final = 5


class Bypass(models.TextChoices):
    """The people who can publish a version without the required approvals."""

    ADMIN = "admin"
    NOBODY = "nobody"


class ReviewPolicy(models.Model):
    """The number of approvals that a version needs; a workspace without a row needs none."""

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
            # A replacement with the same id is not admitted: a replaced resource is never named again.
            self.model(
                **columns_about(resource),
                digest=digest,
                named=" ".join(sorted({identity for named in texts for identity in named.split()})),
            )
            for digest, texts in moments.items()
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
    """The resources that it named when it was last published; see `capabilities.review.outcomes`."""

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
    """An author of a version who is not in a row of the version.

    Such are the authors of deleted versions, and those whose suggested wording another person accepted. They
    count as authors of the versions under review. The log has only names, which change, and it can be pruned.
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


NOT_IN_A_ROW: Final = ("git-", "file-")
"""The prefixes of version ids that no row has."""


class ReviewQuerySet(AboutResourceQuerySet["Review"]):
    """Queries for reviews."""

    def open(self) -> Self:
        """Filter reviews that are neither published nor closed."""
        return self.filter(published_at=None, closed_at=None)

    def open_about(self, resources: Iterable[Target]) -> Mapping[tuple[str, str, UUID], UUID]:
        """Return the ids of the open reviews of resources, by kind, id and identity; in one statement."""
        keys = {(resource.kind, resource.id, resource.identity) for resource in resources}
        rows = self.open().filter(
            resource_id__in={resource_id for _, resource_id, _ in keys},
            identity__in={identity for _, _, identity in keys},
        )
        columns = rows.order_by().values_list("kind", "resource_id", "identity", "pk")
        return {about: pk for *key, pk in columns if (about := tuple(key)) in keys}

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
    message = LimitedText(max_length=MAX_TEXT, blank=True)
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
    """The author; null if the account was deleted, and then the verdict no longer counts."""
    author_name = models.TextField()
    verdict = models.CharField(max_length=16, choices=VerdictValue.choices)
    body = LimitedText(max_length=MAX_TEXT, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = VerdictQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(name="verdict_on_configuration", fields=["identity", "digest"]),
        ]

    def __str__(self) -> str:
        return f"{self.author_name}: {self.verdict}"


SAME_VISIT: Final = datetime.timedelta(minutes=30)
"""Looks that follow each other within this time are one visit, if nothing happens between them."""


class LookQuerySet(models.QuerySet["Look"]):
    """Queries for looks."""

    def note(
        self, review_id: str, user_id: Any, version_id: str, *, latest: datetime.datetime | None
    ) -> Look:
        """Record that a person looks at a version of a review now, and return the look.

        `latest` is the time of the last verdict or comment by another person. A new visit begins with any
        news, or after `SAME_VISIT`. The state seen before it stays in the look, so that the page can be
        reloaded.
        """
        now = timezone.now()
        look, is_first = self.get_or_create(
            review_id=review_id, user_id=user_id, defaults={"version_id": version_id, "at": now}
        )
        if is_first:
            return look
        has_news = look.version_id != version_id or (latest is not None and latest > look.at)
        if has_news or now - look.at >= SAME_VISIT:
            look.version_before, look.before = look.version_id, look.at
        look.version_id, look.at = version_id, now
        look.save(update_fields=["version_id", "at", "version_before", "before"])
        return look


class Look(models.Model):
    """The last visit of a person to the page of a review, and the state seen before it."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    version_id = models.CharField(max_length=80)
    """The version under review at the last look."""
    at = models.DateTimeField()
    version_before = models.CharField(max_length=80, blank=True)
    """The version seen in the previous visit; empty in the first."""
    before = models.DateTimeField(null=True)
    """The end of that visit."""

    objects = LookQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(name="review_look_once", fields=["review", "user"])]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.review_id}: {self.version_id}"


class QuoteField(LimitedText):
    """A text of which only the beginning is selected, because some stored ones are a megabyte long."""

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Return the SQL that selects the column."""
        return f"SUBSTR({sql}, 1, {MAX_QUOTE})", params


class CommentQuerySet(AboutResourceQuerySet["Comment"]):
    """Queries for comments."""

    def resolved(self, *, resolved: bool) -> Self:
        """Filter comments by whether their thread is resolved."""
        is_resolved = models.Q(parent=None, resolved_at__isnull=False) | models.Q(
            parent__resolved_at__isnull=False
        )
        return self.filter(is_resolved if resolved else ~is_resolved)


class Comment(AboutResource):
    """A comment of a person on a version, or on a field or a line in it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    version_id = models.CharField(max_length=80)
    version_number = models.PositiveIntegerField()
    field = LimitedText(max_length=500, blank=True)
    """The place in the configuration, such as `instructions.2.content`; empty for the whole version."""
    line = models.PositiveIntegerField(null=True)
    """The number of the line in the field, from 1."""
    start = models.PositiveIntegerField(null=True, editable=False)
    """The offset of the quotation in the field, in characters; null if it is not in a text."""
    quote = QuoteField(max_length=MAX_QUOTE, blank=True)
    """The commented text, as it was."""
    body = LimitedText(max_length=MAX_BODY)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="replies")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The user name at the time, which outlives the account. Empty for the application."""
    resolved_at = models.DateTimeField(null=True)
    resolved_by_name = models.TextField(blank=True)
    mentioned = models.ManyToManyField(settings.AUTH_USER_MODEL, through="review.Mention", related_name="+")
    """The people whom the text mentions, as far as they may read it."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = CommentQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(name="comment_about", fields=["identity", "resource_id", "created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.author_name}: {clip(self.body, 40)}"


class Mention(models.Model):
    """A person whom a comment mentions, with the entry of the log that notifies them."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    event = models.UUIDField()
    """The id of the entry for writing the comment, or for the change that mentions the person."""

    class Meta:
        constraints = [models.UniqueConstraint(name="mention_once", fields=["comment", "user"])]
        indexes = [models.Index(name="mention_in_event", fields=["event", "user"])]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.comment_id}"


PERSONAL_DATA: Final = (
    names_in("review.Comment", "author_name", "resolved_by_name"),
    names_in("review.Review", "author_name"),
    names_in("review.Verdict", "author_name"),
    rows_of_person("review.Look"),
    rows_of_person("review.Mention"),
)
