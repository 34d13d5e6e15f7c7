"""The model of feedback."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.db import models
from django.utils import timezone

from versioning.models import Workspace

MAX_NAME: Final = 64
MAX_TEXT: Final = 200
MAX_COMMENT: Final = 2048
"""In bytes of UTF-8."""


class Feedback(models.Model):
    """Feedback on a version."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    resource_id = models.CharField(max_length=200)
    version_id = models.CharField(max_length=80, blank=True)
    """Empty for the version defined in code."""
    arm = models.CharField(max_length=64, blank=True)
    run_id = models.UUIDField(null=True)
    name = models.CharField(max_length=MAX_NAME)
    value: Any = models.JSONField()
    """A number, a text or a boolean."""
    comment = models.TextField(blank=True)
    external_id = models.CharField(max_length=MAX_TEXT, null=True)  # noqa: DJ001  null is not unique
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "feedback"
        constraints = [
            models.UniqueConstraint(name="feedback_once", fields=["workspace", "external_id"]),
        ]
        indexes = [
            models.Index(
                name="feedback_of_resource", fields=["kind", "resource_id", "version_id", "-created_at"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.kind} {self.resource_id}"
