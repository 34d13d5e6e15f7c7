"""What people have marked as favorites: agents and prompt blocks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Count, Q
from django.utils import timezone

from versioning.domain.kinds import ResourceKind
from versioning.models.statements import prepared_cursor


@dataclass(frozen=True, kw_only=True)
class Favorited:
    """The favorites of a resource, as one person sees them."""

    by_caller: bool
    count: int
    """How many people have marked it."""


class FavoriteQuerySet(models.QuerySet["Favorite"]):
    def of(self, user_id: Any, kind: ResourceKind) -> Self:
        """Filter by person and kind; the application has no favorites."""
        return self.filter(user_id=user_id, kind=kind.slug) if user_id is not None else self.none()

    def about(self, kind: ResourceKind, resource_ids: Collection[str], user_id: Any) -> dict[str, Favorited]:
        """Return the favorites of each of these resources of a kind, in one query.

        For a single resource, which every save returns, the statement is built only once.
        """
        if len(resource_ids) == 1:
            [resource_id] = resource_ids
            return {resource_id: _about_one(kind, resource_id, user_id)}
        marks, own = Count("pk"), Count("pk", filter=Q(user_id=user_id))
        rows = self.filter(kind=kind.slug, resource_id__in=resource_ids)
        counted = rows.values_list("resource_id").annotate(marks=marks, own=own)
        found = {one: Favorited(by_caller=bool(mine), count=count) for one, count, mine in counted}
        return {one: found.get(one, Favorited(by_caller=False, count=0)) for one in resource_ids}


class Favorite(models.Model):
    """A person has marked a resource.

    There is no foreign key to the resource, because an override stored as a file may have no row.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    """The slug of its kind: an agent and a prompt block may have the same id."""
    resource_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    """When it was marked: earlier events are not news to the person."""

    objects = FavoriteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="favorite_once_per_person", fields=["resource_id", "kind", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} likes {self.kind} {self.resource_id}"


def _about_one(kind: ResourceKind, resource_id: str, user_id: Any) -> Favorited:
    user = Favorite._meta.get_field("user").get_db_prep_value(user_id, connection)
    table, column = Favorite._meta.db_table, Favorite._meta.get_field("user").column
    with prepared_cursor() as cursor:
        # Only names of the table and of a column are inserted.
        counted = f'SELECT COUNT(*), COUNT(CASE WHEN "{column}" = %s THEN 1 END) FROM "{table}"'  # noqa: S608
        cursor.execute(f"{counted} WHERE resource_id = %s AND kind = %s", [user, resource_id, kind.slug])
        count, own = cursor.fetchone()
    return Favorited(by_caller=bool(own), count=count)
