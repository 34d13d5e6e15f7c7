"""Labels and tags as rows."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from editor_client.shared.tags import MAX_LENGTH, tags_of

from versioning.models.guarded import Guarded, GuardedQuerySet
from versioning.models.statements import insert


class Tag(models.Model):
    """A tag of a resource."""

    name = models.CharField(max_length=MAX_LENGTH)

    if TYPE_CHECKING:
        resource_id: str

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.resource_id} {self.name}"

    @classmethod
    def ids_with(cls, names: Collection[str]) -> models.QuerySet[Any, Any]:
        """Return the ids of the resources that have all of these tags, given without duplicates."""
        manager: Any = cls._default_manager
        named = manager.filter(name__in=names).order_by().values("resource")
        found: models.QuerySet[Any, Any] = named.annotate(found=models.Count("pk")).filter(found=len(names))
        return found.values("resource")

    @classmethod
    def begin(cls, resource: Any) -> None:
        """Write the rows of a resource that has none yet."""
        insert(cls, [{"resource_id": resource.pk, "name": tag} for tag in tags_of(resource.metadata)])

    @classmethod
    def write(cls, resource: Any) -> None:
        """Update the rows to match the metadata of a locked resource."""
        manager: Any = cls._default_manager
        rows = manager.filter(resource_id=resource.pk)
        wanted = tags_of(resource.metadata)
        stored = set(rows.values_list("name", flat=True))
        if stored - set(wanted):
            rows.filter(name__in=stored - set(wanted)).delete()
        insert(cls, [{"resource_id": resource.pk, "name": one} for one in wanted if one not in stored])


class VersionLabel(Guarded):
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

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.resource_id} {self.name}"
