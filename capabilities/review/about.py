"""Rows about a resource, distinguished from a later one with the same id."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef, Q

from versioning.domain.access import Caller
from versioning.domain.events import Target
from versioning.domain.kinds import KINDS
from versioning.domain.overrides import IN_CODE
from versioning.models.versioned import find_model

R = TypeVar("R", bound=models.Model)


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
        own = rows.filter(latest_version__author=caller.user_id).order_by()
        in_row = Q(Exists(own.filter(uuid=OuterRef(identity))))
        override = Q(Exists(own.filter(pk=OuterRef("resource_id"))), **{identity: IN_CODE})
        return Q(in_row | override, **{kind: slug})

    return reduce(or_, (of_kind(one.slug, find_model(one)._default_manager.all()) for one in KINDS))
