"""Rows about a resource, distinguished from a later one with the same id."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models

from versioning.domain.events import Target

R = TypeVar("R", bound=models.Model)


class AboutResourceQuerySet(models.QuerySet[R]):
    """Queries for rows about a resource."""

    def about(self, resource: Target) -> Self:
        """Filter by resource."""
        return self.filter(kind=resource.kind, resource_id=resource.id, identity=resource.identity)


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
