"""The kinds of stored resource, and what is different about each in the API."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.filters import AgentFilter
from versioning.api.resources import ResourceViewSet
from versioning.api.schemas import common, prompt_blocks, records, stored_agents, versions
from versioning.api.schemas.base import RequestSchema, ResponseSchema, body_of
from versioning.conf import get_editor
from versioning.domain.config import raise_for_issues
from versioning.domain.kinds import AGENT, PROMPT_BLOCK

Requests = Mapping[str, type[RequestSchema]]
Responses = Mapping[str, type[ResponseSchema]]


def requests_of(
    *, create: type[RequestSchema], update: type[RequestSchema], export: type[RequestSchema]
) -> Requests:
    """Return the bodies of one kind, by action."""
    return {
        "create": create,
        "update": update,
        "export": export,
        "clone": records.Clone,
        "add_version": versions.VersionCreate,
        "activate": versions.Activate,
        "restore": versions.VersionCreate,
        "set_label": versions.SetLabel,
    }


def responses_of(
    *,
    record: type[records.Record],
    page: type[common.PageOf],
    version: type[versions.VersionRecord],
    version_page: type[common.PageOf],
    comparison: type[versions.Comparison],
    export: type[records.Export],
) -> Responses:
    """Return the responses of one kind, by action."""
    return {
        **dict.fromkeys(("create", "retrieve", "update", "clone", "unpublish"), record),
        **dict.fromkeys(("add_version", "version", "restore"), version),
        **dict.fromkeys(("destroy", "destroy_version", "remove_label"), common.Success),
        "list": page,
        "versions": version_page,
        "compare": comparison,
        "export": export,
        "dependents": records.DependentsAnswer,
        "activate": versions.Activated,
        "favorite": records.FavoriteAnswer,
        "unfavorite": records.FavoriteAnswer,
        "labels": versions.LabelList,
        "set_label": versions.LabelAnswer,
    }


class AgentViewSet(ResourceViewSet):
    """Stored agents."""

    subject = "stored agent"
    kind = AGENT
    filters = AgentFilter
    requests = {
        **requests_of(
            create=stored_agents.AgentCreate,
            update=stored_agents.AgentUpdate,
            export=stored_agents.AgentToExport,
        ),
        "change_request": stored_agents.ChangeRequest,
    }
    responses = {
        **responses_of(
            record=stored_agents.AgentRecord,
            page=stored_agents.AgentPage,
            version=stored_agents.AgentVersionRecord,
            version_page=stored_agents.AgentVersionPage,
            comparison=stored_agents.AgentComparison,
            export=stored_agents.AgentExport,
        ),
        "change_request": stored_agents.ChangeRequestAnswer,
    }

    def change_request(self, request: Request, id: str) -> Response:  # noqa: A002
        """Propose a change to the repository that keeps the override; no repository is configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        # As for an export, what is no field of an agent is ignored.
        fields = body_of(request)
        about = {name: fields[name] for name in ("changeMessage", "inspectOnly") if name in fields}
        raise_for_issues(stored_agents.ChangeRequest, about)
        agents.request_change(id, fields, message=about.get("changeMessage"), by=self.caller)

    def create_schema(self, request: Request) -> type[RequestSchema]:
        """Return the schema of the body: for an agent that code defines, that of an override."""
        agent_id = str(body_of(request).get("id"))
        return stored_agents.OverrideCreate if self._overrides(agent_id) else stored_agents.AgentCreate

    def update_schema(self, resource_id: str) -> type[RequestSchema]:
        """Return the schema of the body: for an agent that code defines, that of an override."""
        return stored_agents.OverrideUpdate if self._overrides(resource_id) else stored_agents.AgentUpdate

    def _overrides(self, agent_id: str) -> bool:
        """Say whether code defines an agent with this id; nobody learns of one that they may not read."""
        return agent_id in get_editor().code.readable_by(self.caller)


class PromptBlockViewSet(ResourceViewSet):
    """Prompt blocks."""

    subject = "prompt block"
    kind = PROMPT_BLOCK
    requests = requests_of(
        create=prompt_blocks.PromptBlockCreate,
        update=prompt_blocks.PromptBlockUpdate,
        export=prompt_blocks.PromptBlockToExport,
    )
    responses = responses_of(
        record=prompt_blocks.PromptBlockRecord,
        page=prompt_blocks.PromptBlockPage,
        version=prompt_blocks.PromptBlockVersionRecord,
        version_page=prompt_blocks.PromptBlockVersionPage,
        comparison=prompt_blocks.PromptBlockComparison,
        export=prompt_blocks.PromptBlockExport,
    )


VIEWS: tuple[type[ResourceViewSet], ...] = (AgentViewSet, PromptBlockViewSet)
"""The view of each kind; `versioning.api.urls` gives it its routes."""
