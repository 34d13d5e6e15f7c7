"""The two kinds of stored resource, and what is different about each on the wire."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import answers, bodies, parameters, wire
from versioning.api.base import record_tag, tagged
from versioning.api.filters import AgentFilter, PromptBlockFilter
from versioning.api.resources import RECORD_ORDERS, ResourceViewSet
from versioning.conf import get_editor
from versioning.domain.fields import Shape
from versioning.domain.kinds import AGENT, PROMPT_BLOCK
from versioning.models import Agent, Favorited

COMMON_BODIES: Mapping[str, type[Shape]] = {
    "clone": bodies.Clone,
    "add_version": bodies.VersionCreate,
    "restore": bodies.VersionCreate,
    "set_label": bodies.SetLabel,
}
COMMON_ANSWERS: Mapping[str, type[Shape]] = {
    "destroy": answers.Success,
    "destroy_version": answers.Success,
    "remove_label": answers.Success,
    "dependents": answers.DependentsAnswer,
    "activate": answers.Activated,
    "labels": answers.LabelList,
    "set_label": answers.LabelAnswer,
}


class AgentViewSet(ResourceViewSet):
    """Stored agents."""

    subject = "stored agent"
    kind = AGENT
    filters = AgentFilter
    query = {
        **ResourceViewSet.query,
        "list": (*parameters.paging(100, RECORD_ORDERS), *AgentFilter.parameters()),
    }
    bodies = {
        "create": bodies.AgentCreate,
        "update": bodies.AgentUpdate,
        "export": bodies.AgentToExport,
        "change_request": bodies.ChangeRequest,
        **COMMON_BODIES,
    }
    answers = {
        **COMMON_ANSWERS,
        **dict.fromkeys(("create", "retrieve", "update", "clone", "unpublish"), answers.AgentRecord),
        **dict.fromkeys(("add_version", "version", "restore"), answers.AgentVersionRecord),
        "list": answers.AgentPage,
        "versions": answers.AgentVersionPage,
        "compare": answers.AgentComparison,
        "export": answers.AgentExport,
        "favorite": answers.FavoriteAnswer,
        "unfavorite": answers.FavoriteAnswer,
        "change_request": answers.ChangeRequestAnswer,
    }

    def favorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Mark the agent as a favorite of the caller's; a key acts as its owner."""
        bodies.read(request, bodies.Nothing)
        return self._favorite_answer(*get_editor().agent.favorite(id, by=self.caller))

    def unfavorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Take the caller's mark away."""
        bodies.read(request, bodies.Nothing)
        return self._favorite_answer(*get_editor().agent.unfavorite(id, by=self.caller))

    def change_request(self, request: Request, id: str) -> Response:  # noqa: A002
        """Propose a change to the repository that keeps the override; no repository is configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        config, message = bodies.change_request(request)
        agents.request_change(id, config, message=message, by=self.caller)

    def _favorite_answer(self, agent: Agent, favorited: Favorited) -> Response:
        tag = record_tag(agent, self.caller, self.collection.code, favorited)
        return tagged(self.request, wire.favorite(favorited), tag=tag)

    def create_body(self, request: Request) -> type[Shape]:
        """Return the shape of the body: for an agent that code defines, that of an override."""
        agent_id = str(bodies.as_object(request).get("id"))
        return bodies.OverrideCreate if self._overrides(agent_id) else bodies.AgentCreate

    def update_body(self, resource_id: str) -> type[Shape]:
        """Return the shape of the body: for an agent that code defines, that of an override."""
        return bodies.OverrideUpdate if self._overrides(resource_id) else bodies.AgentUpdate

    def _overrides(self, agent_id: str) -> bool:
        """Say whether code defines an agent with this id; to who may not read it nothing tells of it."""
        return agent_id in get_editor().code.readable_by(self.caller)


class PromptBlockViewSet(ResourceViewSet):
    """Prompt blocks."""

    subject = "prompt block"
    kind = PROMPT_BLOCK
    filters = PromptBlockFilter
    query = {
        **ResourceViewSet.query,
        "list": (*parameters.paging(100, RECORD_ORDERS), *PromptBlockFilter.parameters()),
    }
    bodies = {
        "create": bodies.PromptBlockCreate,
        "update": bodies.PromptBlockUpdate,
        "export": bodies.PromptBlockToExport,
        **COMMON_BODIES,
    }
    answers = {
        **COMMON_ANSWERS,
        **dict.fromkeys(("create", "retrieve", "update", "clone", "unpublish"), answers.PromptBlockRecord),
        **dict.fromkeys(("add_version", "version", "restore"), answers.PromptBlockVersionRecord),
        "list": answers.PromptBlockPage,
        "versions": answers.PromptBlockVersionPage,
        "compare": answers.PromptBlockComparison,
        "export": answers.PromptBlockExport,
    }
