"""The JSON objects of trying a scorer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from versioning.api.schemas import RequestSchema, ResponseSchema, Source
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank

JUDGE = "llm-judge"


class TriedToolCall(RequestSchema):
    """A call of a tool, as `generate` answers it."""

    tool_name: NotBlank
    args: JsonObject = UNCHANGED
    tool_call_id: str | None = None


class TriedUsage(RequestSchema):
    """The tokens of a run, as `generate` answers them."""

    input_tokens: Annotated[int, Field(ge=0)]
    output_tokens: Annotated[int, Field(ge=0)]
    total_tokens: Annotated[int, Field(ge=0)] = UNCHANGED
    cost: JsonObject | None = None


class ScorerTry(RequestSchema):
    """An input with the answer to it, to be scored."""

    input: Any
    output: Any
    ground_truth: Annotated[Any, Field(description="What a good answer is; absent where it is unknown.")] = (
        None
    )
    metadata: JsonObject = UNCHANGED
    tool_calls: list[TriedToolCall] = UNCHANGED
    usage: TriedUsage = UNCHANGED
    milliseconds: Annotated[float, Field(ge=0)] = UNCHANGED
    version_id: Annotated[NotBlank, Field(description="By default the latest version.")] = UNCHANGED


class ScorerDependent(ResponseSchema):
    """What names a scorer."""

    id: str
    name: str
    kind: Annotated[str, Field(json_schema_extra={"enum": ["agent", "dataset", "gate"]})]


class ScorerDependents(ResponseSchema):
    """What names a scorer: agents in their versions, and what scores with it."""

    dependents: list[ScorerDependent]
    hidden_count: int


class ScorerProblem(ResponseSchema):
    """Why a scorer failed."""

    code: str
    message: str


class NotScorableAnswer(ResponseSchema):
    """Why an answer cannot be scored."""

    reason: str


class ScorerOutcome(ResponseSchema):
    """What a scorer says: a score, or an error, or that the answer cannot be scored."""

    score: float | None
    passed: bool | None
    label: str | None
    reason: str | None
    error: ScorerProblem | None
    not_scorable: NotScorableAnswer | None


class AgreementAnswer(ResponseSchema):
    """How far a scorer agrees with people."""

    n: int
    agree: float | None
    kappa: float | None
    majority: float | None


def _config(name: str) -> Source:
    return Source(lambda one: one.config.get(name))


class ScorerJudge(ResponseSchema):
    """The model that judges."""

    model: Annotated[JsonObject | None, _config("model")]
    instructions: Annotated[str | None, _config("instructions")]


class RegisteredConfig(ResponseSchema):
    """What a scorer is."""

    id: str
    name: Annotated[str, _config("name")]
    description: Annotated[str | None, _config("description")] = None
    type: Annotated[str, _config("type")]
    judge: Annotated[ScorerJudge | None, Source(lambda one: one if one.config["type"] == JUDGE else None)] = (
        None
    )


class RegisteredScorer(ResponseSchema):
    """A scorer as other runtimes know it."""

    config: Annotated[RegisteredConfig, Source(lambda one: one)]


class RegisteredAnswer(ResponseSchema):
    """A scorer, with the published agents that name it."""

    scorer: Annotated[RegisteredScorer, Source(lambda one: one)]
    sampling: Annotated[JsonObject | None, _config("defaultSampling")] = None
    agent_ids: Annotated[list[str], Source(lambda one: [agent_id for agent_id, _ in one.agents])]
    agent_names: Annotated[list[str], Source(lambda one: [name for _, name in one.agents])]
    workflow_ids: Annotated[list[str], Source(lambda _one: [])]
    is_registered: Annotated[bool, Field(description="Whether it can be run here."), Source("is_run_here")]
    source: Annotated[Literal["stored"], Source(lambda _one: "stored")]


class RegisteredById(RootModel[dict[str, RegisteredAnswer]]):
    """Scorers, by id."""
