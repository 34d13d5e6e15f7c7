"""The routes of scorers that other kinds do not have."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.scoring.scoring import MISSING, Attempt
from capabilities.evaluation.scoring.verbs import Dependent, Scoring, iter_dependents
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.limits import waits_for_models
from versioning.api.schemas import Json, RequestSchema, ResponseSchema, Source
from versioning.api.versions import ResourceViewSet
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import AGENT
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank
from versioning.domain.selectors import Status

JUDGE = "llm-judge"


class TriedToolCall(RequestSchema):
    """A call of a tool, in the form of `generate`."""

    tool_name: NotBlank
    args: JsonObject = UNCHANGED
    tool_call_id: str | None = None


class TriedUsage(RequestSchema):
    """The tokens of a run, in the form of `generate`."""

    input_tokens: Annotated[int, Field(ge=0)]
    output_tokens: Annotated[int, Field(ge=0)]
    total_tokens: Annotated[int, Field(ge=0)] = UNCHANGED
    cost: JsonObject | None = None


class ScorerTry(RequestSchema):
    """An input with the answer to it, to be scored."""

    input: Any
    output: Any
    ground_truth: Annotated[Any, Field(description="A reference answer; absent if unknown.")] = None
    metadata: JsonObject = UNCHANGED
    tool_calls: list[TriedToolCall] = UNCHANGED
    usage: TriedUsage = UNCHANGED
    milliseconds: Annotated[float, Field(ge=0)] = UNCHANGED
    version_id: Annotated[NotBlank, Field(description="By default the latest version.")] = UNCHANGED


class ScorerDependent(ResponseSchema):
    """A resource that names a scorer."""

    id: str
    name: str
    kind: Annotated[str, Field(json_schema_extra={"enum": ["agent", "dataset", "gate"]})]


class ScorerDependents(ResponseSchema):
    """The dependents of a scorer: agents in their versions, datasets and gates."""

    dependents: Annotated[list[ScorerDependent], Source(lambda both: both[0])]
    hidden_count: Annotated[int, Source(lambda both: both[1])]


class ScorerProblem(ResponseSchema):
    """Why a scorer failed."""

    code: str
    message: str


class NotScorableAnswer(ResponseSchema):
    """Why an answer cannot be scored."""

    reason: str


class ScorerOutcome(ResponseSchema):
    """The outcome of a scorer: a score, an error, or a reason why the answer cannot be scored."""

    score: float | None
    passed: bool | None
    label: str | None
    reason: str | None
    error: ScorerProblem | None
    not_scorable: NotScorableAnswer | None


class AgreementAnswer(ResponseSchema):
    """The agreement of a scorer with people."""

    n: int
    agree: float | None
    kappa: float | None
    majority: float | None


def _config(name: str) -> Source:
    return Source(lambda scorer: scorer.config.get(name))


class ScorerJudge(ResponseSchema):
    """The model that judges."""

    model: Annotated[JsonObject | None, _config("model")]
    instructions: Annotated[str | None, _config("instructions")]


class RegisteredConfig(ResponseSchema):
    """The configuration of a scorer."""

    id: str
    name: Annotated[str, _config("name")]
    description: Annotated[str | None, _config("description")] = None
    type: Annotated[str, _config("type")]
    judge: Annotated[
        ScorerJudge | None, Source(lambda scorer: scorer if scorer.config["type"] == JUDGE else None)
    ] = None


class RegisteredScorer(ResponseSchema):
    """A scorer in the form of other runtimes."""

    config: Annotated[RegisteredConfig, Source(lambda scorer: scorer)]


class RegisteredAnswer(ResponseSchema):
    """A scorer, with the published agents that name it."""

    scorer: Annotated[RegisteredScorer, Source(lambda scorer: scorer)]
    sampling: Annotated[JsonObject | None, _config("defaultSampling")] = None
    agent_ids: Annotated[list[str], Source(lambda scorer: [agent_id for agent_id, _ in scorer.agents])]
    agent_names: Annotated[list[str], Source(lambda scorer: [name for _, name in scorer.agents])]
    workflow_ids: Annotated[list[str], Source(lambda _one: [])]
    is_registered: Annotated[bool, Field(description="Whether it can be run here."), Source("is_run_here")]
    source: Annotated[Literal["stored"], Source(lambda _one: "stored")]


class RegisteredById(RootModel[dict[str, RegisteredAnswer]]):
    """Scorers, by id."""


_COUNTED: Final = ("inputTokens", "outputTokens")


class ScorerViews(ResourceViewSet):
    """Scorers."""

    actions = {**ResourceViewSet.actions, "try_out": Action.RUN}
    own_routes = {"try": {"post": "try_out"}, "agreement": {"get": "agreement"}}
    own_requests = {"try_out": ScorerTry}
    own_responses = {"try_out": ScorerOutcome, "dependents": ScorerDependents, "agreement": AgreementAnswer}

    def dependents(self, request: Request, id: str) -> Response:
        """List the dependents of a scorer."""
        status = Status(request.query_params.get("status", Status.PUBLISHED))
        self._depends_on(id, (AGENT.slug, None))
        agents = self.collection.dependents(id, status=status, by=self.caller)
        agent_dependents = [Dependent(agent_id, name, AGENT.slug) for agent_id, name in agents.readable]
        return Response(
            self.dump(([*agent_dependents, *iter_dependents(id, self.caller)], agents.hidden_count))
        )

    def agreement(self, request: Request, id: str) -> Response:
        """Compare its scores with people's labels under its id."""
        return Response(self.dump(get_editor().experiments.agreement(id, by=self.caller)))

    @waits_for_models
    def try_out(self, request: Request, id: str) -> Response:
        """Score an answer with a version of this scorer; nothing is stored."""
        body = ScorerTry.read(request)
        version_id = body.get("versionId")
        outcome = Scoring.current().try_out(id, parse_attempt(body), version_id=version_id, by=self.caller)
        return Response(self.dump(outcome))


class RegisteredViewSet(EditorViewSet):
    """Scorers in the form of other runtimes."""

    job = "Evaluate"
    subject = "registered scorer"
    responses = {"list": RegisteredById, "retrieve": RegisteredAnswer}
    paths = {"id": (parameters.TEXT, "The id of the scorer.")}

    def list(self, _request: Request) -> Response:
        """Return every scorer that the caller may read, by id."""
        scorers = Scoring.current().registered(by=self.caller)
        return Response({scorer.id: RegisteredAnswer.dump(scorer) for scorer in scorers})

    def retrieve(self, request: Request, id: str) -> Response:
        """Return a scorer, with the agents that name it."""
        return with_etag(request, self.dump(Scoring.current().registered_one(id, by=self.caller)))


def parse_attempt(body: Json) -> Attempt:
    """Return the attempt that the body of a request describes."""
    usage = body.get("usage")
    return Attempt(
        input=body["input"],
        output=body["output"],
        ground_truth=body.get("groundTruth", MISSING),
        metadata=body.get("metadata", {}),
        tool_calls=body.get("toolCalls"),
        tokens=None if usage is None else sum(usage[name] for name in _COUNTED),
        milliseconds=body.get("milliseconds"),
    )
