"""Which agents people have marked as their favorites."""

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
    """What is known about an agent as a favorite."""

    by_caller: bool
    count: int
    """How many people have marked it."""


class FavoriteQuerySet(models.QuerySet["Favorite"]):
    """How favorites are counted."""

    def of(self, user_id: Any) -> Self:
        """Keep a person's; the application has none."""
        return self.filter(user_id=user_id) if user_id is not None else self.none()

    def about(self, agent_ids: Collection[str], user_id: Any) -> dict[str, Favorited]:
        """Return what is known about each of these agents; one query, however many there are.

        About a single one, which the answer to every save tells, by a statement that is built once.
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

    The agent is named and not pointed at: an override that is kept as a file may have no row.
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
        # Nothing but names of the table and a column is put in.
        counted = f'SELECT COUNT(*), COUNT(CASE WHEN "{column}" = %s THEN 1 END) FROM "{table}"'  # noqa: S608
        cursor.execute(f"{counted} WHERE agent_id = %s", [user, agent_id])
        count, own = cursor.fetchone()
    return Favorited(by_caller=bool(own), count=count)
