"""The two kinds of stored resource, and what is different about each in the API."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api import parameters
from versioning.api.base import tagged
from versioning.api.filters import AgentFilter, PromptBlockFilter
from versioning.api.resources import RECORD_ORDERS, ResourceViewSet
from versioning.api.schemas import common, records, versions
from versioning.api.schemas.base import RequestSchema, ResponseSchema, body_of
from versioning.conf import get_editor
from versioning.domain.config import raise_for_faults
from versioning.domain.kinds import AGENT, PROMPT_BLOCK
from versioning.editor.records import RecordView
from versioning.models import Agent, Favorited

_RECORD = ("create", "retrieve", "update", "clone", "unpublish")
_VERSION = ("add_version", "version", "restore")

COMMON_REQUESTS: Mapping[str, type[RequestSchema]] = {
    "clone": records.Clone,
    "add_version": versions.VersionCreate,
    "restore": versions.VersionCreate,
    "set_label": versions.SetLabel,
}
COMMON_RESPONSES: Mapping[str, type[ResponseSchema]] = {
    "destroy": common.Success,
    "destroy_version": common.Success,
    "remove_label": common.Success,
    "dependents": records.DependentsAnswer,
    "activate": versions.Activated,
    "labels": versions.LabelList,
    "set_label": versions.LabelAnswer,
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
    requests = {
        "create": records.AgentCreate,
        "update": records.AgentUpdate,
        "export": records.AgentToExport,
        "change_request": records.ChangeRequest,
        **COMMON_REQUESTS,
    }
    responses = {
        **COMMON_RESPONSES,
        **dict.fromkeys(_RECORD, records.AgentRecord),
        **dict.fromkeys(_VERSION, versions.AgentVersionRecord),
        "list": records.AgentPage,
        "versions": versions.AgentVersionPage,
        "compare": versions.AgentComparison,
        "export": records.AgentExport,
        "favorite": records.FavoriteAnswer,
        "unfavorite": records.FavoriteAnswer,
        "change_request": records.ChangeRequestAnswer,
    }

    def favorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Mark the agent as a favorite of the caller's; a key acts as its owner."""
        common.Nothing.read(request)
        return self._favorited(*get_editor().agent.favorite(id, by=self.caller))

    def unfavorite(self, request: Request, id: str) -> Response:  # noqa: A002
        """Take the caller's mark away."""
        common.Nothing.read(request)
        return self._favorited(*get_editor().agent.unfavorite(id, by=self.caller))

    def change_request(self, request: Request, id: str) -> Response:  # noqa: A002
        """Propose a change to the repository that keeps the override; no repository is configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        # As for an export, what is no field of an agent is ignored.
        fields = body_of(request)
        about = {name: fields[name] for name in ("changeMessage", "inspectOnly") if name in fields}
        raise_for_faults(records.ChangeRequest, about)
        agents.request_change(id, fields, message=about.get("changeMessage"), by=self.caller)

    def _favorited(self, agent: Agent, favorited: Favorited) -> Response:
        record = RecordView(
            resource=agent,
            version=agent.active or agent.latest,
            caller=self.caller,
            code=self.collection.code,
            favorited=favorited,
        )
        return tagged(self.request, self.dump(favorited), tag=record.tag)

    def create_schema(self, request: Request) -> type[RequestSchema]:
        """Return the schema of the body: for an agent that code defines, that of an override."""
        agent_id = str(body_of(request).get("id"))
        return records.OverrideCreate if self._overrides(agent_id) else records.AgentCreate

    def update_schema(self, resource_id: str) -> type[RequestSchema]:
        """Return the schema of the body: for an agent that code defines, that of an override."""
        return records.OverrideUpdate if self._overrides(resource_id) else records.AgentUpdate

    def _overrides(self, agent_id: str) -> bool:
        """Say whether code defines an agent with this id; nobody learns of one that they may not read."""
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
    requests = {
        "create": records.PromptBlockCreate,
        "update": records.PromptBlockUpdate,
        "export": records.PromptBlockToExport,
        **COMMON_REQUESTS,
    }
    responses = {
        **COMMON_RESPONSES,
        **dict.fromkeys(_RECORD, records.PromptBlockRecord),
        **dict.fromkeys(_VERSION, versions.PromptBlockVersionRecord),
        "list": records.PromptBlockPage,
        "versions": versions.PromptBlockVersionPage,
        "compare": versions.PromptBlockComparison,
        "export": records.PromptBlockExport,
    }
