"""Gates over HTTP."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pydantic.alias_generators import to_snake
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.gates import schemas
from capabilities.evaluation.gates.checking import Change
from capabilities.evaluation.gates.verbs import Gates
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page
from versioning.api.schemas import Json, Nothing, Success
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, Message

ORDERS: Final = {"createdAt": "created_at"}


class Started(NamedTuple):
    """The experiments that were started."""

    experiments: list[str]


class GateViewSet(EditorViewSet):
    """What asks for evidence before versions go live."""

    job = "Evaluate"
    subject = "gate"
    actions = {**dict.fromkeys(("create", "update", "destroy"), Action.PUBLISH), "run": Action.RUN}
    created = frozenset({"create"})
    accepted = frozenset({"run"})
    errors = {"create": (404,), "check": (404,), "run": (404, 424)}
    query = {
        "list": (*parameters.paging(100, ORDERS), parameters.RESOURCE_ID, parameters.WORKSPACE),
        "check": (
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("versionId", "By default the latest version."),
            parameters.query("release", "The id of a release, in place of a resource."),
        ),
    }
    requests = {
        "create": schemas.GateCreate,
        "update": schemas.GateUpdate,
        "destroy": Nothing,
        "run": schemas.GateRun,
    }
    responses = {
        "list": schemas.GatePage,
        "create": schemas.GateAnswer,
        "retrieve": schemas.GateAnswer,
        "update": schemas.GateAnswer,
        "destroy": Success,
        "check": schemas.GateCheck,
        "run": schemas.GateRunAnswer,
    }
    paths = {"id": (parameters.UUID, "The id of the gate.")}

    def list(self, request: Request) -> Response:
        """List the gates, oldest first; with `id` those about that agent."""
        given = request.query_params
        found = Gates.list(workspace=given.get("workspaceId"), agent_id=given.get("id"), by=self.caller)
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Ask for evidence before versions of an agent go live, or of every agent of a workspace."""
        given = schemas.GateCreate.read(request)
        resource, workspace = given.pop("resource", None), given.pop("workspaceId", None)
        if resource is not None and resource["kind"] != AGENT.slug:
            raise Invalid.field("resource.kind", Message("must be an agent"))
        agent_id = None if resource is None else resource["id"]
        made = Gates.current().create(_fields(given), agent_id=agent_id, workspace=workspace, by=self.caller)
        return self.made(made, f"gates/{made.pk}")

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a gate."""
        return with_etag(request, self.dump(Gates.find(id, by=self.caller)))

    def update(self, request: Request, id: str) -> Response:
        """Change a gate."""
        changes = _fields(schemas.GateUpdate.read(request))
        return Response(self.dump(Gates.current().change(id, changes, by=self.caller)))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a gate."""
        Nothing.read(request)
        Gates.delete(id, by=self.caller)
        return Response(self.dump("The gate is deleted."))

    def check(self, request: Request) -> Response:
        """Ask the gates about a version, or about a release, before it goes live."""
        given = request.query_params
        change = Change(given.get("kind"), given.get("id"), given.get("versionId"), given.get("release"))
        return Response(self.dump(Gates.current().check(change, by=self.caller)))

    def run(self, request: Request) -> Response:
        """Start the experiments whose results the gates lack, those of what is live included."""
        given = schemas.GateRun.read(request)
        resource = given.get("resource", {})
        change = Change(
            resource.get("kind"),
            resource.get("id"),
            given.get("versionId"),
            given.get("releaseId"),
            member="releaseId",
        )
        return Response(self.dump(Started(Gates.current().run(change, by=self.caller))), status=202)


def _fields(given: Json) -> dict[str, Any]:
    """Return the members of a body by the names of the fields."""
    return {to_snake(name): value for name, value in given.items()}
