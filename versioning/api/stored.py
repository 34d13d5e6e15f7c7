"""The views of stored resources, derived from the description of each kind."""

from __future__ import annotations

from django.utils.module_loading import import_string
from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.filters import filters_for
from versioning.api.resources import ResourceViewSet
from versioning.api.schemas.base import RequestSchema, body_of
from versioning.api.schemas.stored import ChangeRequestAnswer, Proposal, requests_of, responses_of
from versioning.conf import get_editor
from versioning.domain.config import raise_for_issues
from versioning.domain.kinds import KINDS, ResourceKind


class OverridableViewSet(ResourceViewSet):
    """Resources of a kind that code can define and stored resources can override."""

    own_routes = {"change-request": {"post": "change_request"}}
    own_responses = {"change_request": ChangeRequestAnswer}

    def change_request(self, request: Request, id: str) -> Response:  # noqa: A002
        """Propose a change to the repository that holds the override; no repository can be configured yet."""
        agents = get_editor().agent
        agents.require_saving(id, by=self.caller)
        # As for an export, unknown fields are ignored.
        fields = body_of(request)
        about = {name: fields[name] for name in ("changeMessage", "inspectOnly") if name in fields}
        raise_for_issues(Proposal, about)
        agents.request_change(id, fields, message=about.get("changeMessage"), by=self.caller)

    def create_schema(self, request: Request) -> type[RequestSchema]:
        """Return the schema of the body: for a code-defined agent, that of an override."""
        agent_id = str(body_of(request).get("id"))
        return self.requests["override_create" if self._overrides(agent_id) else "create"]

    def update_schema(self, resource_id: str) -> type[RequestSchema]:
        """Return the schema of the body: for a code-defined agent, that of an override."""
        return self.requests["override_update" if self._overrides(resource_id) else "update"]

    def _overrides(self, agent_id: str) -> bool:
        """Return whether code defines an agent with this id that the caller may read."""
        return agent_id in get_editor().code.readable_by(self.caller)


def view_of(kind: ResourceKind) -> type[ResourceViewSet]:
    """Return the view of a kind; `versioning.api.urls` gives it its routes."""
    one, several = kind.stored
    default = OverridableViewSet if kind.in_code else ResourceViewSet
    base: type[ResourceViewSet] = import_string(kind.views) if kind.views else default
    members = {
        "__doc__": f"{several.capitalize()}.",
        "subject": one,
        "kind": kind,
        "filters": filters_for(kind),
        "requests": {**requests_of(kind), **base.own_requests},
        "responses": {**responses_of(kind), **base.own_responses},
    }
    return type(f"{kind.schema_name}ViewSet", (base,), members)


VIEWS = tuple(map(view_of, KINDS))
