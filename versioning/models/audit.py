"""The audit log: who did what, when, from which version to which."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NoReturn

from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from versioning.domain.access import Caller


class Action(models.TextChoices):
    """What is worth an entry."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"
    LABEL = "label"
    RESTORE = "restore"
    DELETE = "delete"
    DELETE_VERSION = "delete_version"
    PRUNE = "prune"
    VISIBILITY = "visibility"
    ROLE = "role"
    KEY_ISSUED = "key_issued"
    KEY_REVOKED = "key_revoked"
    INVITATION_MADE = "invitation_made"
    INVITATION_WITHDRAWN = "invitation_withdrawn"
    WORKSPACE_CREATED = "workspace_created"
    WORKSPACE_RENAMED = "workspace_renamed"


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    """Entries are added and read, nothing else."""

    def record(
        self,
        action: Action,
        *,
        by: Caller,
        workspace_id: str,
        target: str,
        from_version: uuid.UUID | str | None = None,
        to_version: uuid.UUID | str | None = None,
        detail: dict[str, Any] | None = None,
    ) -> AuditEntry:
        """Add an entry; `target` is what was acted on, such as `agent writer` or a user's name."""
        return self.create(
            action=action,
            actor=by.username or "",
            key_prefix=by.key_prefix or "",
            workspace_id=workspace_id,
            target=target,
            from_version=str(from_version or ""),
            to_version=str(to_version or ""),
            detail=detail or {},
        )

    def bulk_create(self, *_entries: Any, **_options: Any) -> NoReturn:
        """Refuse: with its options it could write over entries."""
        raise TypeError("audit entries are added one by one, by record()")

    def update(self, **_changes: Any) -> NoReturn:
        """Refuse: an entry is never changed."""
        raise TypeError("audit entries are never changed")

    def delete(self) -> NoReturn:
        """Refuse: an entry is never removed."""
        raise TypeError("audit entries are never removed")


class AuditEntry(models.Model):
    """One thing that somebody did. Names are kept as text: they outlive what they name."""

    at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    action = models.CharField(max_length=32, choices=Action.choices)
    actor = models.TextField()
    key_prefix = models.CharField(max_length=16, blank=True)
    workspace_id = models.CharField(max_length=200, db_index=True)
    target = models.TextField()
    from_version = models.CharField(max_length=80, blank=True)
    to_version = models.CharField(max_length=80, blank=True)
    detail = models.JSONField(default=dict)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name_plural = "audit entries"
        constraints = [
            models.CheckConstraint(
                name="audit_action_known", condition=models.Q(action__in=[action.value for action in Action])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor or 'the application'}: {self.action} {self.target}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert the entry; raises `TypeError` for one that exists."""
        if not self._state.adding:
            raise TypeError("audit entries are never changed")
        # An entry with the id of another one would be written over it without this.
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse: an entry is never removed."""
        raise TypeError("audit entries are never removed")
