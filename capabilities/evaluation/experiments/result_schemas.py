"""The JSON objects of results."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from capabilities.evaluation.datasets.schemas import Pagination
from capabilities.evaluation.experiments.models import MAX_ID, public_id
from capabilities.evaluation.experiments.schemas import Attempt
from capabilities.evaluation.experiments.score_schemas import (
    Id,
    ProblemOfScore,
    ReasonNotScorable,
    or_null,
    problem_of,
)
from versioning.api.schemas import NotEmpty, RequestSchema, ResponseSchema, Source, Time
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank

Tag = Annotated[NotBlank, Field(pattern=r"^[^\n]*$")]
"""Tags are stored between line feeds."""


class ResultError(RequestSchema):
    """Why an item failed."""

    message: NotEmpty
    code: str | None = None
    stack: str | None = None


class SentScore(RequestSchema):
    """A score that is sent with a result."""

    scorer_id: Id
    scorer_name: str = UNCHANGED
    score: Annotated[float, Field(allow_inf_nan=False)]
    reason: str | None = None
    metadata: JsonObject | None = None


class ResultCreate(RequestSchema):
    """The result of an item and an attempt."""

    item_id: NotBlank
    attempt: Attempt = UNCHANGED
    input: Any = None
    output: Any = None
    ground_truth: Any = None
    error: ResultError | None = None
    started_at: NotBlank | None = None
    completed_at: NotBlank | None = None
    trace_id: Annotated[str, Field(max_length=MAX_ID)] | None = None
    scores: list[SentScore] = UNCHANGED


class ItemRun(RequestSchema):
    """An item that is run now."""

    attempt: Attempt = UNCHANGED
    request_context: Annotated[JsonObject, Field(description="The item's own takes precedence.")] = UNCHANGED


class ResultUpdate(RequestSchema):
    """What people say of a result; an absent member is unchanged, null clears one."""

    status: Literal["needs-review", "reviewed", "complete"] | None = None
    tags: list[Tag] | None = None
    comment: str | None = None


class ResultScore(ResponseSchema):
    """What a scorer says of a result."""

    scorer_id: str
    scorer_version_id: Annotated[str | None, or_null("version_id")]
    scorer_name: Annotated[str, Source(lambda one: one.more.get("scorerName") or one.scorer_id)]
    score: Annotated[float | None, Source("value")]
    passed: bool | None
    label: Annotated[str | None, or_null("label")]
    reason: Annotated[str | None, or_null("reason")]
    error: Annotated[ProblemOfScore | None, Source(problem_of)]
    not_scorable: Annotated[ReasonNotScorable | None, or_null("not_scorable")]


class ResultProblem(ProblemOfScore):
    """Why an item failed."""

    stack: Annotated[str | None, Source(lambda one: one.get("stack"))]


def _member(name: str) -> Source:
    return Source(lambda cell: cell.member(name))


def _detail(name: str) -> Source:
    return Source(lambda cell: cell.detail.get(name))


class ResultAnswer(ResponseSchema):
    """The result of an item and an attempt."""

    id: Annotated[str, Source(lambda cell: str(cell.pk))]
    experiment_id: Annotated[str, Source(lambda cell: public_id(cell.experiment_id))]
    item_id: Annotated[str, Source(lambda cell: str(cell.item_id))]
    item_dataset_version: Annotated[
        int | None, Source(lambda cell: cell.revision.version if cell.revision else None)
    ]
    input: Annotated[Any, _member("input")]
    output: Any
    output_digest: Annotated[
        str | None, Field(description="SHA-256 of the whole output as JSON."), or_null("output_digest")
    ]
    output_cut: Annotated[
        bool, Field(description="Whether only the first 32 KiB are kept."), Source("is_cut")
    ]
    ground_truth: Annotated[Any, _member("groundTruth")]
    metadata: Annotated[JsonObject | None, _member("metadata")]
    expected_trajectory: Annotated[JsonObject | None, _member("expectedTrajectory")]
    error: Annotated[
        ResultProblem | None,
        Source(
            lambda cell: (
                {**(problem_of(cell) or {}), "stack": cell.detail.get("stack")} if cell.error_code else None
            )
        ),
    ]
    scores: Annotated[list[ResultScore], Source(lambda cell: list(cell.scores.all()))]
    input_tokens: int
    output_tokens: int
    milliseconds: int
    started_at: Time
    completed_at: Annotated[Time, Source("ended_at")]
    retry_count: Annotated[int, Source("tries")]
    attempt: int
    trace_id: Annotated[str | None, or_null("run_id")]
    status: Annotated[Literal["needs-review", "reviewed", "complete"] | None, or_null("review_status")]
    tags: Annotated[list[str] | None, or_null("tags")]
    comment: Annotated[str | None, or_null("review_comment")]
    tool_calls: Annotated[list[JsonObject] | None, _detail("toolCalls")]
    tool_mock_report: Annotated[JsonObject | None, _detail("toolMockReport")]
    created_at: Time


class ScoreNotPossible(ResponseSchema):
    """Why an answer cannot be scored."""

    step: Annotated[str, Source(lambda _reason: "scorer")]
    reason: Annotated[str, Source(str)]


def _of_score(name: str) -> Source:
    return Source(lambda pair: getattr(pair[0], name))


def _text_of_score(name: str) -> Source:
    return Source(lambda pair: getattr(pair[0], name) or None)


class ItemRunScore(ResponseSchema):
    """What a scorer says of an item that was run."""

    scorer_id: Annotated[str, _of_score("scorer_id")]
    scorer_name: Annotated[str, Source(lambda pair: pair[1])]
    score: Annotated[float | None, _of_score("value")]
    passed: Annotated[bool | None, _of_score("passed")]
    label: Annotated[str | None, _text_of_score("label")]
    reason: Annotated[str | None, _text_of_score("reason")]
    error: Annotated[str | None, _text_of_score("error_message")]
    not_scorable: Annotated[ScoreNotPossible | None, _text_of_score("not_scorable")] = None


class ItemRunAnswer(ResponseSchema):
    """The result of an item that was run, and what the scorers say of it."""

    result: ResultAnswer
    scores: list[ItemRunScore]


class ResultPage(ResponseSchema):
    """A page of results."""

    results: Annotated[list[ResultAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]
