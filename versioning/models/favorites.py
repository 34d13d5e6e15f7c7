"""The agents that people have marked as favorites."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Count, Q

from versioning.models.statements import prepared_cursor


@dataclass(frozen=True, kw_only=True)
class Favorited:
    """The favorites of an agent, as one person sees them."""

    by_caller: bool
    count: int
    """How many people have marked it."""


class FavoriteQuerySet(models.QuerySet["Favorite"]):
    """Queries for favorites."""

    def of(self, user_id: Any) -> Self:
        """Filter by person; the application has no favorites."""
        return self.filter(user_id=user_id) if user_id is not None else self.none()

    def about(self, agent_ids: Collection[str], user_id: Any) -> dict[str, Favorited]:
        """Return the favorites of each of these agents, in one query.

        For a single agent, which every save returns, the statement is built only once.
        """
        if len(agent_ids) == 1:
            [agent_id] = agent_ids
            return {agent_id: _about_one(agent_id, user_id)}
        marks, own = Count("pk"), Count("pk", filter=Q(user_id=user_id))
        counted = self.filter(agent_id__in=agent_ids).values_list("agent_id").annotate(marks=marks, own=own)
        found = {agent_id: Favorited(by_caller=bool(mine), count=count) for agent_id, count, mine in counted}
        return {agent_id: found.get(agent_id, Favorited(by_caller=False, count=0)) for agent_id in agent_ids}


class Favorite(models.Model):
    """A person has marked an agent.

    There is no foreign key to the agent, because an override stored as a file may have no row.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    agent_id = models.CharField(max_length=200)

    objects = FavoriteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="favorite_once_per_person", fields=["agent_id", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} likes {self.agent_id}"


def _about_one(agent_id: str, user_id: Any) -> Favorited:
    user = Favorite._meta.get_field("user").get_db_prep_value(user_id, connection)
    table, column = Favorite._meta.db_table, Favorite._meta.get_field("user").column
    with prepared_cursor() as cursor:
        # Only names of the table and of a column are inserted.
        counted = f'SELECT COUNT(*), COUNT(CASE WHEN "{column}" = %s THEN 1 END) FROM "{table}"'  # noqa: S608
        cursor.execute(f"{counted} WHERE agent_id = %s", [user, agent_id])
        count, own = cursor.fetchone()
    return Favorited(by_caller=bool(own), count=count)
