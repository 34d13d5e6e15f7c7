"""The two kinds of stored resource, and what is different about each on the wire."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request

from versioning import installed
from versioning.api import answers, bodies, parameters, wire
from versioning.api.filters import AgentFilter, PromptBlockFilter
from versioning.api.resources import RECORD_ORDERS, ResourceViewSet
from versioning.fields import Shape

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
    kind = wire.AGENTS
    filters = AgentFilter
    query = {
        **ResourceViewSet.query,
        "list": (*parameters.paging(100, RECORD_ORDERS), *AgentFilter.parameters()),
    }
    bodies = {
        "create": bodies.AgentCreate,
        "update": bodies.AgentUpdate,
        "export": bodies.AgentToExport,
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
    }

    def create_body(self, request: Request) -> type[Shape]:
        """Return the shape of the body: for an agent that code defines, that of an override."""
        agent_id = str(bodies.as_object(request).get("id"))
        return bodies.OverrideCreate if self._overrides(agent_id) else bodies.AgentCreate

    def update_body(self, resource_id: str) -> type[Shape]:
        """Return the shape of the body: for an agent that code defines, that of an override."""
        return bodies.OverrideUpdate if self._overrides(resource_id) else bodies.AgentUpdate

    def _overrides(self, agent_id: str) -> bool:
        """Say whether code defines an agent with this id; to who may not read it nothing tells of it."""
        return agent_id in installed.editor().code.readable_by(self.caller)


class PromptBlockViewSet(ResourceViewSet):
    """Prompt blocks."""

    subject = "prompt block"
    kind = wire.PROMPT_BLOCKS
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
