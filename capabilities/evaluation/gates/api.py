"""Gates over HTTP."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from editor_client.shared.gates import GateState as State
from pydantic import Field, StrictInt
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.evaluation.experiments.models import public_id
from capabilities.evaluation.experiments.schemas import MAX_ATTEMPTS
from capabilities.evaluation.gates.verbs import Change, Gates
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging
from versioning.api.schemas import (
    Nothing,
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Success,
    Time,
    Uuid,
)
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank, Shape
from versioning.domain.errors import Invalid, Message

MAX_SCORERS = 20
MAX_RULES = 20
MAX_DAYS = 365
_STATES = tuple(state.value for state in State)
GateState = TypeAliasType("GateState", Literal[_STATES])  # type: ignore[valid-type]


class AllPass(Shape):
    """Every item passes in every attempt, or every one with the tag."""

    rule: Literal["allPass"]
    scorerId: Annotated[NotBlank, Field(description="By default the primary scorer.")] = UNCHANGED  # noqa: N815
    tag: NotBlank = UNCHANGED


class PassRate(Shape):
    """At least this share of the items passes, by the primary scorer."""

    rule: Literal["passRate"]
    min: Annotated[float, Field(ge=0, le=1)]


class NotWorse(Shape):
    """The version is not found to be worse than the live one."""

    rule: Literal["notWorse"]


class NonInferior(Shape):
    """The version is shown to be at most the margin worse than the live one."""

    rule: Literal["nonInferior"]
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class NoNewFailures(Shape):
    """No item that passes every attempt with the live version fails most attempts."""

    rule: Literal["noNewFailures"]


class MaxTokens(Shape):
    """The mean tokens of an item are at most this many times those of the live version."""

    rule: Literal["maxTokens"]
    ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)]


GateRule = TypeAliasType(
    "GateRule",
    Annotated[
        AllPass | PassRate | NotWorse | NonInferior | NoNewFailures | MaxTokens, Field(discriminator="rule")
    ],
)
_SCORERS = Annotated[list[NotBlank], Field(min_length=1, max_length=MAX_SCORERS)]
_RULES = Annotated[list[GateRule], Field(min_length=1, max_length=MAX_RULES)]
_ATTEMPTS = Annotated[StrictInt, Field(ge=1, le=MAX_ATTEMPTS)]
_DAYS = Annotated[
    StrictInt, Field(ge=1, le=MAX_DAYS, description=("The number of days for which evidence is valid."))
]
_CONTEXT = Annotated[
    JsonObject | None,
    Field(description="The request context in which items have to run; that of an item takes precedence."),
]
_TOOLS = Annotated[
    Literal["deny", "allow"], Field(description="The required policy for tool calls without a mock.")
]
_DATASET = Annotated[
    Annotated[StrictInt, Field(ge=1)] | Literal["latest"],
    Field(
        description=(
            "The version of the dataset for evidence, or `latest`; then only publishers can change the "
            "dataset."
        )
    ),
]
_TOO_FEW = Annotated[
    Literal["refuse", "allow"],
    Field(description="The result if there are too few items to show the difference that a rule requires."),
]
_BYPASS = Annotated[
    Literal["admin", "nobody"], Field(description=("The people who can publish without evidence."))
]


class GateUpdate(RequestSchema):
    """An edit of a gate; an absent member is unchanged."""

    dataset_id: NotBlank = UNCHANGED
    scorer_ids: _SCORERS = UNCHANGED
    primary_scorer: NotBlank = UNCHANGED
    attempts: _ATTEMPTS = UNCHANGED
    rules: _RULES = UNCHANGED
    evidence_days: _DAYS = UNCHANGED
    request_context: _CONTEXT = UNCHANGED
    tool_policy: _TOOLS = UNCHANGED
    dataset_policy: _DATASET = UNCHANGED
    too_few: _TOO_FEW = UNCHANGED
    bypass: _BYPASS = UNCHANGED
    enabled: bool = UNCHANGED


class GateCreate(GateUpdate):
    """A new gate."""

    workspace_id: NotBlank = UNCHANGED
    resource: Annotated[
        ReferencedResource | None, Field(description="An agent; null for every agent of the workspace.")
    ] = None
    dataset_id: NotBlank
    scorer_ids: _SCORERS
    rules: _RULES


class GateAnswer(ResponseSchema):
    """A requirement for the versions of an agent, or of every agent of a workspace."""

    id: Annotated[Uuid, Source(lambda gate: str(gate.pk))]
    workspace_id: str
    resource: Annotated[ResourceReference | None, Source("about")]
    dataset_id: Annotated[Uuid, Source(lambda gate: str(gate.dataset_id))]
    scorer_ids: list[str]
    primary_scorer: str
    attempts: int
    rules: list[GateRule]
    evidence_days: int
    request_context: JsonObject
    tool_policy: _TOOLS
    dataset_policy: _DATASET
    too_few: _TOO_FEW
    bypass: _BYPASS
    enabled: bool
    created_at: Time
    updated_at: Time


class GatePage(PageOf):
    """Gates, oldest first."""

    gates: Annotated[list[GateAnswer], Source("items")]


class GateJudgement(ResponseSchema):
    """The judgement of an unsatisfied gate."""

    gate_id: Annotated[Uuid, Source(lambda judgement: str(judgement.gate.pk))]
    resource: Annotated[ResourceReference, Source("affected.about")]
    state: Annotated[GateState | None, Field(description="Null if it is satisfied.")]
    rule: Annotated[JsonObject | None, Field(description="The failed rule; null if none was evaluated.")]
    experiment_id: Annotated[
        str | None,
        Source(lambda judgement: judgement.experiment_id and public_id(judgement.experiment_id)),
        Field(description="The evidence, or the closest experiment."),
    ]


class GateCheckedJudgement(GateJudgement):
    """The judgement of a gate about an agent."""

    ok: bool


class GateCheck(ResponseSchema):
    """Whether every gate is satisfied."""

    ok: bool
    gates: list[GateCheckedJudgement]
    hidden_gates: Annotated[
        int,
        Field(
            description=("The number of other unsatisfied gates, about agents that the caller may not read.")
        ),
    ]


class GateRun(RequestSchema):
    """The change to evaluate: a version of a resource, or a release."""

    resource: ReferencedResource = UNCHANGED
    version_id: Annotated[NotBlank, Field(description="By default the latest version.")] = UNCHANGED
    release_id: NotBlank = UNCHANGED


class GateRunAnswer(ResponseSchema):
    """The experiments that were started."""

    experiments: Annotated[list[str], Source(list)]


class EvaluationErrorMembers(ResponseSchema):
    """The additional members of errors about gates."""

    evaluation: list[GateJudgement] | None = None
    hidden_gates: int | None = None


PAGING: Final = Paging(100)


class GateViewSet(EditorViewSet):
    """Gates that require evidence before versions go live."""

    job = "Evaluate"
    subject = "gate"
    actions = {**dict.fromkeys(("create", "update", "destroy"), Action.PUBLISH), "run": Action.RUN}
    created = frozenset({"create"})
    accepted = frozenset({"run"})
    errors = {"create": (404,), "check": (404,), "run": (404, 424)}
    query = {
        "list": (*PAGING.parameters, parameters.RESOURCE_ID, parameters.WORKSPACE),
        "check": (
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("versionId", "By default the latest version."),
            parameters.query("release", "The id of a release, instead of a resource."),
        ),
    }
    requests = {"create": GateCreate, "update": GateUpdate, "destroy": Nothing, "run": GateRun}
    responses = {
        "list": GatePage,
        "create": GateAnswer,
        "retrieve": GateAnswer,
        "update": GateAnswer,
        "destroy": Success,
        "check": GateCheck,
        "run": GateRunAnswer,
    }
    paths = {"id": (parameters.UUID, "The id of the gate.")}

    def list(self, request: Request) -> Response:
        """List the gates, oldest first; with `id` those about that agent."""
        filters = request.query_params
        gates = Gates.list(workspace=filters.get("workspaceId"), agent_id=filters.get("id"), by=self.caller)
        page = PAGING.read(filters)
        return self.page_of(page, gates)

    def create(self, request: Request) -> Response:
        """Require evidence before versions of an agent, or of every agent of a workspace, go live."""
        fields = GateCreate.read_arguments(request)
        resource, workspace = fields.pop("resource", None), fields.pop("workspace_id", None)
        if resource is not None and resource["kind"] != AGENT.slug:
            raise Invalid.field("resource.kind", Message("must be an agent"))
        agent_id = None if resource is None else resource["id"]
        gate = Gates.current().create(fields, agent_id=agent_id, workspace=workspace, by=self.caller)
        return self.respond_created(gate, f"gates/{gate.pk}")

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a gate."""
        return with_etag(request, self.dump(Gates.find(id, by=self.caller)))

    def update(self, request: Request, id: str) -> Response:
        """Change a gate."""
        changes = GateUpdate.read_arguments(request)
        return Response(self.dump(Gates.current().change(id, changes, by=self.caller)))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a gate."""
        Nothing.read(request)
        Gates.delete(id, by=self.caller)
        return Response(self.dump("The gate is deleted."))

    def check(self, request: Request) -> Response:
        """Check the gates for a version or a release before it goes live."""
        query = request.query_params
        change = Change(query.get("kind"), query.get("id"), query.get("versionId"), query.get("release"))
        return Response(self.dump(Gates.current().check(change, by=self.caller)))

    def run(self, request: Request) -> Response:
        """Start the experiments whose results the gates lack, including those of live versions."""
        body = GateRun.read(request)
        resource = body.get("resource", {})
        change = Change(
            resource.get("kind"),
            resource.get("id"),
            body.get("versionId"),
            body.get("releaseId"),
            member="releaseId",
        )
        return Response(self.dump(Gates.current().run(change, by=self.caller)), status=202)
