"""The JSON objects of experiments, their results and scores."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, StrictBool, StrictFloat, StrictInt, StrictStr

from evaluation.datasets.schemas import Pagination
from evaluation.experiments.models import MAX_GROUP, MAX_NAME
from evaluation.scoring.schemas import NotScorableAnswer, ScorerProblem
from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source, Time, TimeOrNull, UuidOrNull
from versioning.api.schemas.common import NotEmpty
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank

MAX_ATTEMPTS = 20
Name = Annotated[str, Field(max_length=MAX_NAME)]
Group = Annotated[NotBlank, Field(max_length=MAX_GROUP)]
Attempt = Annotated[int, Field(ge=0, lt=MAX_ATTEMPTS)]


class PinnedScorerNamed(RequestSchema):
    """A scorer in a version."""

    id: NotBlank
    version_id: NotBlank = UNCHANGED


class ExperimentLimits(RequestSchema):
    """What an experiment may use; asked before each cell."""

    tokens: Annotated[int, Field(ge=1)] = UNCHANGED
    seconds: Annotated[float, Field(gt=0)] = UNCHANGED
    error_share: Annotated[float, Field(ge=0, le=1, description="0.2 when absent.")] = UNCHANGED
    item_seconds: Annotated[float, Field(gt=0, le=3600, description="120 when absent.")] = UNCHANGED


class ExperimentGrouping(RequestSchema):
    """Ids by which callers group experiments."""

    experiment_set_id: Group = UNCHANGED
    comparison_id: Group = UNCHANGED
    variant_id: Group = UNCHANGED
    trial_index: Annotated[int, Field(ge=0, le=2**31 - 1)] = UNCHANGED


class ExperimentProvenance(RequestSchema):
    """Where an experiment comes from."""

    source: NotBlank = UNCHANGED
    source_id: NotBlank = UNCHANGED
    source_version: NotBlank = UNCHANGED
    metadata: JsonObject = UNCHANGED


class RunnerAttestation(RequestSchema):
    """The program that runs an experiment elsewhere."""

    runner_id: NotBlank
    invocation_id: NotBlank
    runner_version: NotBlank = UNCHANGED


class ExperimentUpdate(RequestSchema):
    """Another name, description or metadata; an absent member is unchanged, null clears one."""

    name: Name | None = None
    description: str | None = None
    metadata: JsonObject | None = None


class ExperimentCreate(ExperimentUpdate):
    """A new experiment over a dataset."""

    start: Annotated[bool, Field(description="Absent: true; false: the application asks or sends.")] = (
        UNCHANGED
    )
    id: Annotated[NotBlank, Field(description="Only with `start: false`.")] = UNCHANGED
    target_type: Literal["agent", "scorer"] = UNCHANGED
    target_id: NotBlank = UNCHANGED
    selector: Annotated[JsonObject, Field(description="The version of the target; else published.")] = (
        UNCHANGED
    )
    lock: Annotated[JsonObject, Field(description="A lock that holds the target.")] = UNCHANGED
    release: Annotated[NotBlank, Field(description="The target as this release would publish it.")] = (
        UNCHANGED
    )
    agent_version: Annotated[NotBlank, Field(description="A version of the target.")] = UNCHANGED
    versions: JsonObject = UNCHANGED
    version: Annotated[int, Field(ge=1, description="Of the dataset; the present one when absent.")] = (
        UNCHANGED
    )
    baseline: Annotated[
        NotBlank, Field(description="`published`, a version of the target, or an experiment.")
    ] = UNCHANGED
    attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = UNCHANGED
    scorer_ids: list[NotBlank | PinnedScorerNamed] | None = None
    primary_scorer: NotBlank = UNCHANGED
    limits: ExperimentLimits = UNCHANGED
    unmocked_tool_policy: Literal["allow", "deny"] = UNCHANGED
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] = UNCHANGED
    request_context: JsonObject = UNCHANGED
    grouping: ExperimentGrouping = UNCHANGED
    provenance: ExperimentProvenance = UNCHANGED
    runner_attestation: RunnerAttestation = UNCHANGED
    dry_run: Annotated[bool, Field(description="True stores nothing, and says what it would be.")] = UNCHANGED


class ExperimentResume(RequestSchema):
    """What an experiment may use from now on, together with what it has used."""

    limits: ExperimentLimits = UNCHANGED


class ExperimentAttempts(RequestSchema):
    """How many attempts every item is to have."""

    attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]


class ExperimentScore(RequestSchema):
    """The scorers that score the outputs that there are."""

    scorer_ids: Annotated[list[NotBlank | PinnedScorerNamed], Field(min_length=1)]


def _row(attribute: str) -> Source:
    return Source(f"row.{attribute}")


def _row_or_null(attribute: str) -> Source:
    return Source(lambda shown: getattr(shown.row, attribute) or None)


def _setting(member: str) -> Source:
    return Source(lambda shown: shown.row.settings.get(member))


def _items(name: str) -> Source:
    return Source(lambda shown: shown.items[name])


class ExperimentCounts(ResponseSchema):
    """The cells of an experiment by state; running ones are queued."""

    cells: Annotated[int, Source(lambda counts: counts["cells"])]
    done: Annotated[int, Source(lambda counts: counts["done"])]
    errors: Annotated[int, Source(lambda counts: counts["errors"])]
    skipped: Annotated[int, Source(lambda counts: counts["skipped"])]
    queued: Annotated[int, Source(lambda counts: counts["queued"])]
    not_scorable: Annotated[int, Source(lambda counts: counts["notScorable"])]


class ExperimentSpent(ResponseSchema):
    """What an experiment used."""

    input_tokens: Annotated[int, Source(lambda spent: spent["inputTokens"])]
    output_tokens: Annotated[int, Source(lambda spent: spent["outputTokens"])]
    milliseconds: Annotated[int, Source(lambda spent: spent["milliseconds"])]


class PinnedScorerAnswer(ResponseSchema):
    """A scorer in the version that was pinned."""

    scorer_id: str
    version_id: str
    primary: Annotated[bool, Source("is_primary")]


def _of(name: str) -> Source:
    return Source(lambda summary: summary[name])


class ScorerSummary(ResponseSchema):
    """What a scorer says of an experiment; statistics are over items."""

    scorer_id: Annotated[str, _of("scorerId")]
    n: Annotated[int, Field(description="The items with a score."), _of("n")]
    passed: Annotated[int, Field(description="Those that passed in every attempt."), _of("passed")]
    pass_rate: Annotated[float | None, _of("passRate")]
    interval: Annotated[
        list[float] | None, Field(description="Wilson's, at 95 %, of the pass rate."), _of("interval")
    ]
    mean: Annotated[float | None, _of("mean")]
    flaky: Annotated[int, Field(description="Those that passed in some attempts only."), _of("flaky")]
    errors: Annotated[int, _of("errors")]
    not_scorable: Annotated[int, _of("notScorable")]


class ExperimentAnswer(ResponseSchema):
    """An experiment."""

    id: Annotated[str, _row("pk")]
    workspace_id: Annotated[str, _row("workspace_id")]
    dataset_id: Annotated[
        UuidOrNull, Source(lambda shown: str(shown.row.dataset_id) if shown.row.dataset_id else None)
    ]
    dataset_version: Annotated[int, _row("dataset_version")]
    dataset_digest: Annotated[str, _row("dataset_digest")]
    agent_version: Annotated[str | None, _row_or_null("version_id")]
    target_type: Annotated[str | None, _row_or_null("target_type")]
    target_id: Annotated[str | None, _row_or_null("target_id")]
    scorer_ids: Annotated[list[str], Source(lambda shown: [one.scorer_id for one in shown.scorers])]
    name: Annotated[str | None, _row_or_null("name")]
    description: Annotated[str | None, _setting("description")]
    metadata: Annotated[JsonObject | None, _setting("metadata")]
    provenance: Annotated[JsonObject | None, _setting("provenance")]
    runner_attestation: Annotated[JsonObject | None, _setting("runnerAttestation")]
    experiment_set_id: Annotated[str | None, _row_or_null("experiment_set_id")]
    comparison_id: Annotated[str | None, _row_or_null("comparison_id")]
    variant_id: Annotated[str | None, _row_or_null("variant_id")]
    trial_index: Annotated[int | None, _row("trial_index")]
    status: Annotated[Literal["pending", "running", "completed", "failed"], _row("status")]
    outcome: Annotated[
        Literal["complete", "cancelled", "tooManyErrors", "overBudget", "expired"] | None,
        _row_or_null("outcome"),
    ]
    counts: ExperimentCounts
    spent: ExperimentSpent
    lock: Annotated[JsonObject | None, _row("lock")]
    lock_digest: Annotated[str | None, _row_or_null("lock_digest")]
    attempts: Annotated[int, _row("attempts")]
    pair_of: Annotated[str | None, _row_or_null("pair_of_id")]
    scorers: list[PinnedScorerAnswer]
    summary: list[ScorerSummary]
    limits: Annotated[JsonObject | None, _setting("limits")]
    unmocked_tool_policy: Annotated[
        str, Source(lambda shown: shown.row.settings.get("unmockedToolPolicy", "deny"))
    ]
    started_by: Annotated[str | None, _row_or_null("author_name")]
    total_items: Annotated[int, _row("items_count")]
    succeeded_count: Annotated[int, _items("succeeded")]
    failed_count: Annotated[int, _items("failed")]
    skipped_count: Annotated[int, _items("skipped")]
    started_at: Annotated[TimeOrNull, _row("started_at")]
    completed_at: Annotated[TimeOrNull, _row("ended_at")]
    created_at: Annotated[Time, _row("created_at")]
    updated_at: Annotated[Time, _row("updated_at")]


class ExperimentStarted(ExperimentAnswer):
    """A new experiment; `results` is empty, because they come later."""

    experiment_id: Annotated[str, _row("pk")]
    results: Annotated[list[JsonObject], Source(lambda _shown: [])]


class EstimatedTokens(ResponseSchema):
    """What an experiment would use, about."""

    input_tokens: int
    output_tokens: int


class EstimateProblem(ResponseSchema):
    """Something that an experiment would suffer from."""

    code: str
    message: str
    scorer_id: str | None


class ExperimentEstimate(ResponseSchema):
    """What an experiment would be; a new baseline is counted too."""

    cells: int
    estimate: Annotated[EstimatedTokens, Source(lambda estimate: estimate)]
    not_scorable: Annotated[
        dict[str, int], Field(description="The items that a scorer cannot score, by scorer.")
    ]
    problems: list[EstimateProblem]


class ExperimentNotStarted(RootModel[ExperimentEstimate | ExperimentStarted]):
    """With `dryRun` what it would be; otherwise the experiment that has this id already."""


class ExperimentPage(ResponseSchema):
    """A page of experiments."""

    experiments: Annotated[list[ExperimentAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ReviewCount(ResponseSchema):
    """How many results of an experiment people look at."""

    experiment_id: Annotated[str, Source(lambda one: one["experimentId"])]
    total: Annotated[int, Source(lambda one: one["total"])]
    needs_review: Annotated[int, Source(lambda one: one["needsReview"])]
    reviewed: Annotated[int, Source(lambda one: one["reviewed"])]
    complete: Annotated[int, Source(lambda one: one["complete"])]


class ReviewSummary(ResponseSchema):
    """The results that people look at, by experiment."""

    counts: Annotated[list[ReviewCount], Source(lambda counts: counts)]


class ResultError(RequestSchema):
    """Why an item failed."""

    message: NotEmpty
    code: str | None = None
    stack: str | None = None


class SentScore(RequestSchema):
    """A score that is sent with a result."""

    scorer_id: NotBlank
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
    trace_id: str | None = None
    scores: list[SentScore] = UNCHANGED


class ResultUpdate(RequestSchema):
    """What people say of a result; an absent member is unchanged, null clears one."""

    status: Literal["needs-review", "reviewed", "complete"] | None = None
    tags: list[NotBlank] | None = None
    comment: str | None = None


def _or_null(attribute: str) -> Source:
    return Source(lambda one: getattr(one, attribute) or None)


def _problem(one: Any) -> dict[str, str] | None:
    return {"code": one.error_code, "message": one.error_message} if one.error_code else None


class ProblemOfScore(ScorerProblem):
    """Why a scorer failed."""

    code: Annotated[str, Source(lambda one: one["code"])]
    message: Annotated[str, Source(lambda one: one["message"])]


class ReasonNotScorable(NotScorableAnswer):
    """Why an answer cannot be scored."""

    reason: Annotated[str, Source(str)]


class ResultScore(ResponseSchema):
    """What a scorer says of a result."""

    scorer_id: str
    scorer_version_id: Annotated[str | None, _or_null("version_id")]
    scorer_name: Annotated[str, Source(lambda one: one.more.get("scorerName") or one.scorer_id)]
    score: Annotated[float | None, Source("value")]
    passed: bool | None
    label: Annotated[str | None, _or_null("label")]
    reason: Annotated[str | None, _or_null("reason")]
    error: Annotated[ProblemOfScore | None, Source(_problem)]
    not_scorable: Annotated[ReasonNotScorable | None, _or_null("not_scorable")]


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
    experiment_id: str
    item_id: Annotated[str, Source(lambda cell: str(cell.item_id))]
    item_dataset_version: Annotated[
        int | None, Source(lambda cell: cell.revision.version if cell.revision else None)
    ]
    input: Annotated[Any, _member("input")]
    output: Any
    output_digest: Annotated[
        str | None, Field(description="SHA-256 of the whole output as JSON."), _or_null("output_digest")
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
                {**(_problem(cell) or {}), "stack": cell.detail.get("stack")} if cell.error_code else None
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
    trace_id: Annotated[str | None, _or_null("run_id")]
    status: Annotated[Literal["needs-review", "reviewed", "complete"] | None, _or_null("review_status")]
    tags: Annotated[list[str] | None, _or_null("tags")]
    comment: Annotated[str | None, _or_null("review_comment")]
    tool_calls: Annotated[list[JsonObject] | None, _detail("toolCalls")]
    tool_mock_report: Annotated[JsonObject | None, _detail("toolMockReport")]
    created_at: Time


class ResultPage(ResponseSchema):
    """A page of results."""

    results: Annotated[list[ResultAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ScoreSent(RequestSchema):
    """A score of an application's own run, or of an item of an experiment."""

    scorer_id: NotBlank
    run_id: NotBlank
    entity_id: NotBlank
    entity_type: NotBlank = UNCHANGED
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
    scorer_version_id: Annotated[str | None, _or_null("version_id")]
    run_id: str
    entity_id: str
    entity_type: Annotated[str | None, _or_null("entity_type")]
    source: str
    score: Annotated[float | None, Source("value")]
    passed: bool | None
    label: Annotated[str | None, _or_null("label")]
    reason: Annotated[str | None, _or_null("reason")]
    error: Annotated[ProblemOfScore | None, Source(_problem)]
    not_scorable: Annotated[ReasonNotScorable | None, _or_null("not_scorable")]
    scorer: Annotated[JsonObject, Source(lambda score: score.more.get("scorer") or {"id": score.scorer_id})]
    entity: Annotated[JsonObject, Source(lambda score: score.more.get("entity") or {"id": score.entity_id})]
    input: Annotated[Any, _more("input")]
    output: Annotated[Any, _more("output")]
    metadata: Annotated[JsonObject | None, _more("metadata")]
    additional_context: Annotated[JsonObject | None, _more("additionalContext")]
    request_context: Annotated[JsonObject | None, _more("requestContext")]
    trace_id: Annotated[str | None, _more("traceId")]
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
    experiment_id: str
    item_id: Annotated[str, Source(lambda label: str(label.item_id))]
    attempt: int
    name: str
    value: bool | int | float | str
    comment: Annotated[str | None, _or_null("comment")]
    author: Annotated[str | None, Source(lambda label: label.author.get_username() if label.author else None)]
    created_at: Time
    updated_at: Time


class ResultLabelPage(ResponseSchema):
    """A page of labels, newest first."""

    labels: Annotated[list[ResultLabelAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]
