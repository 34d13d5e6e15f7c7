"""The JSON objects of gates."""

from __future__ import annotations

from typing import Annotated, Literal

from editor_client.shared.gates import State
from pydantic import Field, StrictInt
from typing_extensions import TypeAliasType

from capabilities.evaluation.experiments.models import public_id
from versioning.api.schemas import (
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Time,
    Uuid,
)
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank, Shape

MAX_SCORERS = 20
MAX_RULES = 20
MAX_DAYS = 365
MAX_ATTEMPTS = 20
_STATES = tuple(one.value for one in State)
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
    """The version is not found to be worse than what is live."""

    rule: Literal["notWorse"]


class NonInferior(Shape):
    """The version is shown to be at most the margin worse than what is live."""

    rule: Literal["nonInferior"]
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class NoNewFailures(Shape):
    """Nothing that passes every attempt live fails most of them now."""

    rule: Literal["noNewFailures"]


class MaxTokens(Shape):
    """An item takes at most so many times the tokens that it takes live, as the mean."""

    rule: Literal["maxTokens"]
    ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)]


GateRule = TypeAliasType(
    "GateRule",
    Annotated[
        AllPass | PassRate | NotWorse | NonInferior | NoNewFailures | MaxTokens,
        Field(discriminator="rule"),
    ],
)
_SCORERS = Annotated[list[NotBlank], Field(min_length=1, max_length=MAX_SCORERS)]
_RULES = Annotated[list[GateRule], Field(min_length=1, max_length=MAX_RULES)]
_ATTEMPTS = Annotated[StrictInt, Field(ge=1, le=MAX_ATTEMPTS)]
_DAYS = Annotated[StrictInt, Field(ge=1, le=MAX_DAYS, description="How many days evidence is good for.")]
_CONTEXT = Annotated[
    JsonObject | None,
    Field(description="The request context in which items have to run; that of an item takes precedence."),
]
_TOOLS = Annotated[
    Literal["deny", "allow"], Field(description="What has to happen to calls of tools that no mock answers.")
]
_DATASET = Annotated[
    Annotated[StrictInt, Field(ge=1)] | Literal["latest"],
    Field(
        description="The version of the dataset that evidence is about, or `latest`: then those who may "
        "publish change it."
    ),
]
_TOO_FEW = Annotated[
    Literal["refuse", "allow"],
    Field(description="What it says where too few items cannot show the difference that a rule asks for."),
]
_BYPASS = Annotated[Literal["admin", "nobody"], Field(description="Who may publish without evidence.")]


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
    """What is asked of the versions of an agent, or of every agent of a workspace."""

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
    """What a gate says that is not satisfied."""

    gate_id: Annotated[Uuid, Source(lambda one: str(one.gate.pk))]
    resource: Annotated[ResourceReference, Source("affected.about")]
    state: Annotated[GateState | None, Field(description="Null if it is satisfied.")]
    rule: Annotated[
        JsonObject | None, Field(description="The rule that does not hold; null before one was asked.")
    ]
    experiment_id: Annotated[
        str | None,
        Source(lambda one: one.experiment_id and public_id(one.experiment_id)),
        Field(description="The evidence, or what comes closest to it."),
    ]


class GateCheckedJudgement(GateJudgement):
    """What a gate says of an agent."""

    ok: bool


class GateCheck(ResponseSchema):
    """Whether every gate is satisfied."""

    ok: bool
    gates: list[GateCheckedJudgement]
    hidden_gates: Annotated[
        int,
        Field(description="How many others, about agents that the caller may not read, are not satisfied."),
    ]


class GateRun(RequestSchema):
    """What is to be evaluated: a version of a resource, or a release."""

    resource: ReferencedResource = UNCHANGED
    version_id: Annotated[NotBlank, Field(description="By default the latest version.")] = UNCHANGED
    release_id: NotBlank = UNCHANGED


class GateRunAnswer(ResponseSchema):
    """The experiments that were started."""

    experiments: list[str]


class EvaluationErrorMembers(ResponseSchema):
    """The additional members of errors about gates."""

    evaluation: list[GateJudgement] | None = None
    hidden_gates: int | None = None
