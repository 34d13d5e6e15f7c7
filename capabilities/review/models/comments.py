"""Comments on versions."""

from __future__ import annotations

from typing import Any, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from capabilities.review.about import AboutResource, AboutResourceQuerySet
from versioning.domain.texts import MAX_QUOTE, clip
from versioning.models import Workspace


class QuoteField(models.TextField):  # type: ignore[type-arg]  # no type at run time
    """A text of which only the beginning is selected: some stored ones are a megabyte long."""

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Return the SQL that selects the column."""
        return f"SUBSTR({sql}, 1, {MAX_QUOTE})", params

    def deconstruct(self) -> Any:
        """Return the arguments for migrations: the column is an ordinary one."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs


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
    field = models.TextField(blank=True)
    """The place in the configuration, such as `instructions.2.content`; empty for the whole version."""
    line = models.PositiveIntegerField(null=True)
    """The number of the line in the field, from 1."""
    start = models.PositiveIntegerField(null=True, editable=False)
    """How many characters of the field precede the quotation; null if it does not stand in a text."""
    quote = QuoteField(blank=True)
    """The commented text, as it was."""
    body = models.TextField()
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
    """The id of the entry: when the comment was written, or changed to mention the person."""

    class Meta:
        constraints = [models.UniqueConstraint(name="mention_once", fields=["comment", "user"])]
        indexes = [models.Index(name="mention_in_event", fields=["event", "user"])]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.comment_id}"
