"""Favorites: the agents that a person marks, for that person alone. They are no part of what is versioned."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection

from django.db import transaction

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Forbidden, NotFound
from versioning.editor.collection import Collection
from versioning.editor.reading import Who, caller_of
from versioning.models import Agent, Favorite, Favorited


class AgentFavorites(Collection[Agent]):
    """What the collection of agents has that prompt blocks have not: people's favorites."""

    def favorite(self, agent_id: str, *, by: Who) -> tuple[Agent, Favorited]:
        """Mark an agent as a favorite of the person that acts, or for whom a key acts.

        Raises `NotFound` for an agent that the caller cannot read without a selector, and `Forbidden`
        for the application, which is no person.
        """
        return self._mark(agent_id, caller_of(by), wanted=True)

    def unfavorite(self, agent_id: str, *, by: Who) -> tuple[Agent, Favorited]:
        """Take the mark away, if there is one; raises as `favorite` does."""
        return self._mark(agent_id, caller_of(by), wanted=False)

    def favorites_about(
        self, agent_ids: AnyCollection[str], *, by: Who = APPLICATION
    ) -> dict[str, Favorited]:
        """Return, by id, who has marked these agents."""
        return Favorite.objects.about(agent_ids, caller_of(by).user_id)

    def _mark(self, agent_id: str, by: Caller, *, wanted: bool) -> tuple[Agent, Favorited]:
        with transaction.atomic():
            # Locked, so that no mark is left behind for a namesake while the agent is being deleted.
            agent = self._locked(agent_id, by)
            if agent.gone:
                raise NotFound
            if by.user_id is None:
                raise Forbidden("Only people have favorites.")
            if wanted:
                Favorite.objects.get_or_create(agent_id=agent.pk, user_id=by.user_id)
            else:
                Favorite.objects.filter(agent_id=agent.pk, user_id=by.user_id).delete()
            return agent, Favorite.objects.about([agent.pk], by.user_id)[agent.pk]

    def _delete(self, resource: Agent) -> None:
        Favorite.objects.filter(agent_id=resource.pk).delete()
        super()._delete(resource)
