"""A version: one saved configuration, written once and never changed."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from versioning.models.references import Reference


class Version(models.Model):
    """One saved configuration. Never changed; knows no status of its own."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    number = models.PositiveIntegerField(editable=False)
    config_json = models.TextField(editable=False)
    digest = models.CharField(max_length=64, editable=False)
    name = models.TextField(editable=False)
    search_text = models.TextField(editable=False)
    excerpt = models.TextField(default="", db_default="", editable=False)
    """How the prompt begins, for lists: a text of up to a megabyte is not read for a line."""
    changed_fields = models.JSONField(editable=False)
    change_message = models.TextField(editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    bypassed_by = models.TextField(default="", db_default="", editable=False)
    """The user name of the admin who let it go live without the approvals that it needed; else empty."""

    source = "database"
    read_only = False
    commit = None
    reference_models: ClassVar[tuple[type[Reference], ...]] = ()

    if TYPE_CHECKING:
        resource: Any
        resource_id: str

    class Meta:
        abstract = True
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.resource_id} version {self.number}"

    @property
    def version_id(self) -> str:
        """The id as callers write it."""
        return str(self.pk)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The saved fields; not to be changed."""
        config: dict[str, Any] = json.loads(self.config_json)
        return config

    @property
    def author_name(self) -> str | None:
        """Who saved it; None for the application itself."""
        return self.author.get_username() if self.author is not None else None
