"""The JSON objects of scores, and of what people say of results."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from capabilities.evaluation.datasets.schemas import Pagination
from capabilities.evaluation.experiments.models import MAX_ID, MAX_NAME, public_id
from capabilities.evaluation.experiments.schemas import Attempt
from capabilities.evaluation.scoring.schemas import NotScorableAnswer, ScorerProblem
from versioning.api.schemas import RequestSchema, ResponseSchema, Source, Time, TimeOrNull
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank

Id = Annotated[NotBlank, Field(max_length=MAX_ID)]
MAX_ENTITY_TYPE: Final = 32


def or_null(attribute: str) -> Source:
    """Return where a member comes from that is null rather than empty."""
    return Source(lambda one: getattr(one, attribute) or None)


def problem_of(one: Any) -> dict[str, str] | None:
    """Return the error of a score or a cell, or None."""
    return {"code": one.error_code, "message": one.error_message} if one.error_code else None


class ProblemOfScore(ScorerProblem):
    """Why a scorer failed."""

    code: Annotated[str, Source(lambda one: one["code"])]
    message: Annotated[str, Source(lambda one: one["message"])]


class ReasonNotScorable(NotScorableAnswer):
    """Why an answer cannot be scored."""

    reason: Annotated[str, Source(str)]


class ScoreSent(RequestSchema):
    """A score of an application's own run, or of an item of an experiment."""

    scorer_id: Id
    run_id: Id
    entity_id: Id
    entity_type: Annotated[NotBlank, Field(max_length=MAX_ENTITY_TYPE)] = UNCHANGED
    score: Annotated[float, Field(allow_inf_nan=False)]
    scorer: JsonObject = UNCHANGED
    source: Literal["LIVE", "TEST"] = UNCHANGED
    entity: JsonObject = UNCHANGED
    input: Any = None
    output: Any = None
    reason: str | None = None
    additional_context: JsonObject | None = None
    request_context: JsonObject | None = None
    metadata: JsonObject | None = None
    structured_output: bool | None = None
    trace_id: str | None = None
    span_id: str | None = None
    resource_id: str | None = None
    thread_id: str | None = None
    organization_id: str | None = None
    project_id: str | None = None
    batch_id: str | None = None
    dataset_id: str | None = None
    dataset_item_id: str | None = None
    preprocess_step_result: Any = None
    preprocess_prompt: str | None = None
    analyze_step_result: Any = None
    analyze_prompt: str | None = None
    generate_score_prompt: str | None = None
    generate_reason_prompt: str | None = None
    reason_prompt: str | None = None
    extract_step_result: Any = None
    extract_prompt: str | None = None


class ScoreCreate(RequestSchema):
    """A score to store."""

    score: ScoreSent
    workspace_id: NotBlank = UNCHANGED


def _more(name: str) -> Source:
    return Source(lambda score: score.more.get(name))


class ScoreAnswer(ResponseSchema):
    """A score."""

    id: Annotated[str, Source(lambda score: str(score.pk))]
    scorer_id: str
    scorer_version_id: Annotated[str | None, or_null("version_id")]
    run_id: Annotated[
        str, Source(lambda score: score.run_id if score.cell_id is None else public_id(score.run_id))
    ]
    entity_id: str
    entity_type: Annotated[str | None, or_null("entity_type")]
    source: str
    score: Annotated[float | None, Source("value")]
    passed: bool | None
    label: Annotated[str | None, or_null("label")]
    reason: Annotated[str | None, or_null("reason")]
    error: Annotated[ProblemOfScore | None, Source(problem_of)]
    not_scorable: Annotated[ReasonNotScorable | None, or_null("not_scorable")]
    scorer: Annotated[JsonObject, Source(lambda score: score.more.get("scorer") or {"id": score.scorer_id})]
    entity: Annotated[JsonObject, Source(lambda score: score.more.get("entity") or {"id": score.entity_id})]
    input: Annotated[Any, _more("input")]
    output: Annotated[Any, _more("output")]
    metadata: Annotated[JsonObject | None, _more("metadata")]
    additional_context: Annotated[JsonObject | None, _more("additionalContext")]
    request_context: Annotated[JsonObject | None, _more("requestContext")]
    trace_id: Annotated[str | None, _more("traceId")]
    structured_output: Annotated[bool | None, _more("structuredOutput")] = None
    span_id: Annotated[str | None, _more("spanId")] = None
    resource_id: Annotated[str | None, _more("resourceId")] = None
    thread_id: Annotated[str | None, _more("threadId")] = None
    organization_id: Annotated[str | None, _more("organizationId")] = None
    project_id: Annotated[str | None, _more("projectId")] = None
    batch_id: Annotated[str | None, _more("batchId")] = None
    dataset_id: Annotated[str | None, _more("datasetId")] = None
    dataset_item_id: Annotated[str | None, _more("datasetItemId")] = None
    preprocess_prompt: Annotated[str | None, _more("preprocessPrompt")] = None
    analyze_prompt: Annotated[str | None, _more("analyzePrompt")] = None
    generate_score_prompt: Annotated[str | None, _more("generateScorePrompt")] = None
    generate_reason_prompt: Annotated[str | None, _more("generateReasonPrompt")] = None
    reason_prompt: Annotated[str | None, _more("reasonPrompt")] = None
    extract_prompt: Annotated[str | None, _more("extractPrompt")] = None
    preprocess_step_result: Annotated[Any, _more("preprocessStepResult")] = None
    analyze_step_result: Annotated[Any, _more("analyzeStepResult")] = None
    extract_step_result: Annotated[Any, _more("extractStepResult")] = None
    created_at: Time
    updated_at: TimeOrNull


class ScoreStored(ResponseSchema):
    """The score that was stored."""

    score: Annotated[ScoreAnswer, Source(lambda score: score)]


class ScorePage(ResponseSchema):
    """A page of scores, newest first."""

    scores: Annotated[list[ScoreAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ResultLabelCreate(RequestSchema):
    """What a person says of a result."""

    experiment_id: NotBlank
    item_id: NotBlank
    attempt: Attempt = UNCHANGED
    name: Annotated[NotBlank, Field(max_length=MAX_NAME)]
    value: StrictBool | StrictInt | StrictFloat | StrictStr
    comment: str | None = None


class ResultLabelAnswer(ResponseSchema):
    """What a person said of a result."""

    id: Annotated[str, Source(lambda label: str(label.pk))]
    experiment_id: Annotated[str, Source(lambda label: public_id(label.experiment_id))]
    item_id: Annotated[str, Source(lambda label: str(label.item_id))]
    attempt: int
    name: str
    value: bool | int | float | str
    comment: Annotated[str | None, or_null("comment")]
    author: Annotated[str | None, Source(lambda label: label.author.get_username() if label.author else None)]
    created_at: Time
    updated_at: Time


class ResultLabelPage(ResponseSchema):
    """A page of labels, newest first."""

    labels: Annotated[list[ResultLabelAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]
