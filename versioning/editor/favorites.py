"""Favorites: the agents that a person has marked. They are personal, and no part of any version."""

from __future__ import annotations

from versioning.domain.access import Caller
from versioning.domain.errors import Forbidden, NotFound
from versioning.editor.locking import retried
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent, Favorite, Favorited, events


@retried
def favorite(resources: Resources[Agent], agent_id: str, *, by: Who) -> tuple[Agent, Favorited]:
    """Mark an agent as a favorite of the caller; a key marks it for its owner.

    Raises `NotFound` if the caller cannot read the agent without a selector, and `Forbidden` for the
    application, which is no person.
    """
    return _mark(resources, agent_id, caller_of(by), wanted=True)


@retried
def unfavorite(resources: Resources[Agent], agent_id: str, *, by: Who) -> tuple[Agent, Favorited]:
    """Remove the mark, if there is one; raises as `favorite` does."""
    return _mark(resources, agent_id, caller_of(by), wanted=False)


def _mark(resources: Resources[Agent], agent_id: str, by: Caller, *, wanted: bool) -> tuple[Agent, Favorited]:
    # The lock prevents a mark from outliving an agent that is being deleted.
    with resources.backend.locked(agent_id, by) as agent:
        if agent.gone:
            raise NotFound
        if by.user_id is None:
            raise Forbidden("Only people have favorites.")
        events.acts(by)
        if wanted:
            Favorite.objects.get_or_create(agent_id=agent.pk, user_id=by.user_id)
        else:
            Favorite.objects.filter(agent_id=agent.pk, user_id=by.user_id).delete()
        return agent, Favorite.objects.about([agent.pk], by.user_id)[agent.pk]
