"""Labels: names for versions."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils import timezone


class VersionLabel(models.Model):
    """A name that points at a version and can be moved."""

    name = models.CharField(max_length=64)
    released = models.BooleanField(default=False)
    """Whether the version is served under this name to everyone who may read published versions."""
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )

    if TYPE_CHECKING:
        resource_id: str
        version: Any
        version_id: uuid.UUID

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.resource_id} {self.name}"
