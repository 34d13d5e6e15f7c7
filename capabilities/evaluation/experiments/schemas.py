"""The JSON objects of experiments, their results and scores, and of comparisons."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from editor_client.shared.pairing import ItemOutcome
from editor_client.shared.statistics import Verdict
from pydantic import Field, RootModel, StrictBool, StrictFloat, StrictInt, StrictStr

from capabilities.evaluation.datasets.schemas import Pagination
from capabilities.evaluation.experiments.models import MAX_GROUP, MAX_ID, MAX_NAME, public_id
from capabilities.evaluation.scoring.kind import Score
from versioning.api.runs import CostOrNull
from versioning.api.schemas import (
    NotEmpty,
    RequestSchema,
    ResponseSchema,
    Source,
    Time,
    TimeOrNull,
    UuidOrNull,
)
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank
from versioning.domain.provider_catalog import cost_dict
from versioning.runtime.observing import price_list_date

MAX_ATTEMPTS = 20
Name = Annotated[str, Field(max_length=MAX_NAME)]
Group = Annotated[NotBlank, Field(max_length=MAX_GROUP)]
Attempt = Annotated[int, Field(ge=0, lt=MAX_ATTEMPTS)]


class PinnedScorerNamed(RequestSchema):
    """A scorer in a version."""

    id: NotBlank
    version_id: NotBlank = UNCHANGED


class ExperimentLimits(RequestSchema):
    """The limits of an experiment, checked before each cell."""

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
    """The origin of an experiment."""

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

    start: Annotated[
        bool, Field(description=("True when absent; with false the application runs items or sends results."))
    ] = UNCHANGED
    id: Annotated[NotBlank, Field(description="Only with `start: false`.")] = UNCHANGED
    target_type: Literal["agent", "scorer"] = UNCHANGED
    target_id: NotBlank = UNCHANGED
    selector: Annotated[
        JsonObject, Field(description=("The version of the target; published when absent."))
    ] = UNCHANGED
    lock: Annotated[JsonObject, Field(description="A lock that contains the target.")] = UNCHANGED
    release: Annotated[NotBlank, Field(description="The target as this release would publish it.")] = (
        UNCHANGED
    )
    agent_version: Annotated[NotBlank, Field(description="A version of the target.")] = UNCHANGED
    versions: JsonObject = UNCHANGED
    version: Annotated[
        int, Field(ge=1, description=("The version of the dataset; the current one when absent."))
    ] = UNCHANGED
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
    dry_run: Annotated[bool, Field(description="True stores nothing and returns an estimate.")] = UNCHANGED


class ExperimentResume(RequestSchema):
    """New limits of an experiment; earlier usage still counts."""

    limits: ExperimentLimits = UNCHANGED


class ExperimentAttempts(RequestSchema):
    """The number of attempts of every item."""

    attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]


class ExperimentScore(RequestSchema):
    """The scorers for the existing outputs."""

    scorer_ids: Annotated[list[NotBlank | PinnedScorerNamed], Field(min_length=1)]


def or_null(attribute: str) -> Source:
    """Return the source of a member that is null instead of empty."""
    return Source(lambda one: getattr(one, attribute) or None)


def _setting(member: str) -> Source:
    return Source(lambda experiment: experiment.settings.get(member))


def _items(name: str) -> Source:
    return Source(lambda experiment: experiment.item_counts[name])


class ExperimentCounts(ResponseSchema):
    """The cells of an experiment by state; running ones are queued."""

    cells: Annotated[int, Source("cells_count")]
    done: Annotated[int, Source("done_count")]
    errors: Annotated[int, Source("error_count")]
    skipped: Annotated[int, Source("skipped_count")]
    queued: Annotated[int, Source("queued_count")]
    not_scorable: int


class ExperimentSpent(ResponseSchema):
    """The usage of all tries of an experiment, including judges."""

    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: Annotated[CostOrNull, Source(lambda row: row.cost_dict)]


class PinnedScorerAnswer(ResponseSchema):
    """A scorer in the version that was pinned."""

    scorer_id: str
    version_id: str
    primary: Annotated[bool, Source("is_primary")]


def _of(name: str) -> Source:
    return Source(lambda summary: summary[name])


class ScorerSummary(ResponseSchema):
    """The summary of a scorer in an experiment; statistics are over items."""

    scorer_id: Annotated[str, _of("scorerId")]
    n: Annotated[int, Field(description="The items with a score."), _of("n")]
    passed: Annotated[int, Field(description="The items that passed in every attempt."), _of("passed")]
    pass_rate: Annotated[float | None, _of("passRate")]
    interval: Annotated[
        list[float] | None, Field(description="Wilson's 95 % interval of the pass rate."), _of("interval")
    ]
    mean: Annotated[float | None, _of("mean")]
    flaky: Annotated[int, Field(description="The items that passed in some attempts only."), _of("flaky")]
    errors: Annotated[int, _of("errors")]
    not_scorable: Annotated[int, _of("notScorable")]


class ExperimentAnswer(ResponseSchema):
    """An experiment."""

    id: Annotated[str, Source("public_id")]
    workspace_id: str
    dataset_id: Annotated[UuidOrNull, Source(lambda row: str(row.dataset_id) if row.dataset_id else None)]
    dataset_version: int
    dataset_digest: str
    agent_version: Annotated[str | None, or_null("version_id")]
    target_type: Annotated[str | None, or_null("target_type")]
    target_id: Annotated[str | None, or_null("target_id")]
    scorer_ids: Annotated[list[str], Source(lambda row: [scorer.scorer_id for scorer in row.pinned_scorers])]
    name: Annotated[str | None, or_null("name")]
    description: Annotated[str | None, _setting("description")]
    metadata: Annotated[JsonObject | None, _setting("metadata")]
    provenance: Annotated[JsonObject | None, _setting("provenance")]
    runner_attestation: Annotated[JsonObject | None, _setting("runnerAttestation")]
    experiment_set_id: Annotated[str | None, or_null("experiment_set_id")]
    comparison_id: Annotated[str | None, or_null("comparison_id")]
    variant_id: Annotated[str | None, or_null("variant_id")]
    trial_index: int | None
    status: Literal["pending", "running", "completed", "failed"]
    outcome: Annotated[
        Literal["complete", "cancelled", "tooManyErrors", "overBudget", "expired"] | None, or_null("outcome")
    ]
    counts: Annotated[ExperimentCounts, Source(lambda row: row)]
    spent: Annotated[ExperimentSpent, Source(lambda row: row)]
    lock: JsonObject | None
    lock_digest: Annotated[str | None, or_null("lock_digest")]
    attempts: int
    pair_of: Annotated[str | None, Source(lambda row: public_id(row.pair_of_id) if row.pair_of_id else None)]
    scorers: Annotated[list[PinnedScorerAnswer], Source("pinned_scorers")]
    summary: list[ScorerSummary]
    limits: Annotated[JsonObject | None, _setting("limits")]
    unmocked_tool_policy: Annotated[str, Source("tool_policy")]
    request_context: Annotated[
        JsonObject | None,
        or_null("request_context"),
        Field(description="The request context of its items, in addition to their own; null without one."),
    ]
    started_by: Annotated[str | None, or_null("author_name")]
    total_items: Annotated[int, Source("items_count")]
    succeeded_count: Annotated[int, _items("succeeded")]
    failed_count: Annotated[int, _items("failed")]
    skipped_count: Annotated[int, _items("skipped")]
    started_at: TimeOrNull
    completed_at: Annotated[TimeOrNull, Source("ended_at")]
    created_at: Time
    updated_at: Time


class ExperimentStarted(ExperimentAnswer):
    """A new experiment; `results` is empty, because they come later."""

    experiment_id: Annotated[str, Source("public_id")]
    results: Annotated[list[JsonObject], Source(lambda _shown: [])]


class EstimatedTokens(ResponseSchema):
    """The estimated usage of an experiment."""

    input_tokens: int
    output_tokens: int
    cost: Annotated[CostOrNull, Source(lambda estimate: cost_dict(estimate.cost, price_list_date()))]


class EstimateProblem(ResponseSchema):
    """A problem that does not prevent an experiment."""

    code: str
    message: str
    scorer_id: str | None


class ExperimentEstimate(ResponseSchema):
    """Estimated calls, tokens and cost of an experiment, including a new baseline."""

    cells: int
    estimate: Annotated[EstimatedTokens, Source(lambda estimate: estimate)]
    not_scorable: Annotated[
        dict[str, int], Field(description="The items that a scorer cannot score, by scorer.")
    ]
    problems: list[EstimateProblem]


class ExperimentNotStarted(RootModel[ExperimentEstimate | ExperimentStarted]):
    """With `dryRun` the estimate; otherwise the existing experiment with this id."""


class ExperimentPage(ResponseSchema):
    """A page of experiments."""

    experiments: Annotated[list[ExperimentAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ReviewCount(ResponseSchema):
    """The number of results of an experiment under review."""

    experiment_id: Annotated[str, Source(lambda one: one["experimentId"])]
    total: Annotated[int, Source(lambda one: one["total"])]
    needs_review: Annotated[int, Source(lambda one: one["needsReview"])]
    reviewed: Annotated[int, Source(lambda one: one["reviewed"])]
    complete: Annotated[int, Source(lambda one: one["complete"])]


class ReviewSummary(ResponseSchema):
    """The results under review, by experiment."""

    counts: Annotated[list[ReviewCount], Source(lambda counts: counts)]


Id = Annotated[NotBlank, Field(max_length=MAX_ID)]
MAX_ENTITY_TYPE: Final = 32


def error_dict(one: Any) -> dict[str, str] | None:
    """Return the error of a score or a cell, or None."""
    return {"code": one.error_code, "message": one.error_message} if one.error_code else None


class ProblemOfScore(ResponseSchema):
    """Why a scorer failed."""

    code: Annotated[str, Source(lambda one: one["code"])]
    message: Annotated[str, Source(lambda one: one["message"])]


class ReasonNotScorable(ResponseSchema):
    """Why an answer cannot be scored."""

    reason: Annotated[str, Source(str)]


class ScoreSent(RequestSchema):
    """A score of an application's own run, or of an item of an experiment."""

    scorer_id: Id
    run_id: Id
    entity_id: Id
    entity_type: Annotated[NotBlank, Field(max_length=MAX_ENTITY_TYPE)] = UNCHANGED
    score: Score
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
    error: Annotated[ProblemOfScore | None, Source(error_dict)]
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
    """A person's label of a result."""

    experiment_id: NotBlank
    item_id: NotBlank
    attempt: Attempt = UNCHANGED
    name: Annotated[NotBlank, Field(max_length=MAX_NAME)]
    value: StrictBool | StrictInt | StrictFloat | StrictStr
    comment: str | None = None


class ResultLabelAnswer(ResponseSchema):
    """A stored label of a result."""

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
    score: Score
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
    """An item to run now."""

    attempt: Attempt = UNCHANGED
    request_context: Annotated[JsonObject, Field(description="The item's own takes precedence.")] = UNCHANGED


class ResultUpdate(RequestSchema):
    """A review of a result; an absent member is unchanged, null clears one."""

    status: Literal["needs-review", "reviewed", "complete"] | None = None
    tags: list[Tag] | None = None
    comment: str | None = None


class ResultScore(ResponseSchema):
    """The outcome of a scorer for a result."""

    scorer_id: str
    scorer_version_id: Annotated[str | None, or_null("version_id")]
    scorer_name: Annotated[str, Source(lambda one: one.more.get("scorerName") or one.scorer_id)]
    score: Annotated[float | None, Source("value")]
    passed: bool | None
    label: Annotated[str | None, or_null("label")]
    reason: Annotated[str | None, or_null("reason")]
    error: Annotated[ProblemOfScore | None, Source(error_dict)]
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
        bool, Field(description="Whether only the first 32 KiB are stored."), Source("is_cut")
    ]
    ground_truth: Annotated[Any, _member("groundTruth")]
    metadata: Annotated[JsonObject | None, _member("metadata")]
    expected_trajectory: Annotated[JsonObject | None, _member("expectedTrajectory")]
    error: Annotated[
        ResultProblem | None,
        Source(
            lambda cell: (
                {**(error_dict(cell) or {}), "stack": cell.detail.get("stack")} if cell.error_code else None
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
    """The outcome of a scorer for an item that was run."""

    scorer_id: Annotated[str, _of_score("scorer_id")]
    scorer_name: Annotated[str, Source(lambda pair: pair[1])]
    score: Annotated[float | None, _of_score("value")]
    passed: Annotated[bool | None, _of_score("passed")]
    label: Annotated[str | None, _text_of_score("label")]
    reason: Annotated[str | None, _text_of_score("reason")]
    error: Annotated[str | None, _text_of_score("error_message")]
    not_scorable: Annotated[ScoreNotPossible | None, _text_of_score("not_scorable")] = None


class ItemRunAnswer(ResponseSchema):
    """The result of an item that was run, with the outcomes of the scorers."""

    result: Annotated[ResultAnswer, Source(lambda both: both[0])]
    scores: Annotated[list[ItemRunScore], Source(lambda both: both[1])]


class ResultPage(ResponseSchema):
    """A page of results."""

    results: Annotated[list[ResultAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


_OUTCOMES = [outcome.value for outcome in ItemOutcome]
_VERDICTS = [verdict.value for verdict in Verdict]


class LeftOutAnswer(ResponseSchema):
    """The number of items in no pair of the primary scorer, by reason."""

    only_here: int
    only_baseline: int
    changed_items: int
    errors: int
    not_scorable: int


class ComparedScorerAnswer(ResponseSchema):
    """The comparison of the pairs by one scorer."""

    scorer_id: str
    primary: bool
    wins: int
    losses: int
    ties: int
    difference: Annotated[float, Field(description="The mean over the pairs; positive is better here.")]
    interval: Annotated[
        list[float] | None,
        Field(min_length=2, max_length=2, description="The 95 % interval; null if it cannot be computed."),
    ]
    p: float
    verdict: Annotated[str, Field(json_schema_extra={"enum": _VERDICTS})]
    detectable: Annotated[
        int | None,
        Field(
            description=("The smallest drop in whole points that this many pairs would detect 4 times in 5.")
        ),
    ]


class ComparedItemAnswer(ResponseSchema):
    """An item that both runs scored, by the primary scorer."""

    item_id: str
    outcome: Annotated[str, Field(json_schema_extra={"enum": _OUTCOMES})]
    difference: float
    here: float
    baseline: float


class ComparisonAnswer(ResponseSchema):
    """The comparison of an experiment with its baseline."""

    pairs: Annotated[int, Source(lambda pair: pair[0].pairs)]
    left_out: Annotated[LeftOutAnswer, Source(lambda pair: pair[0].left_out)]
    not_contemporary: Annotated[
        bool,
        Source(lambda pair: pair[0].not_contemporary),
        Field(description="Whether they ran on different days, or the provider reported different models."),
    ]
    scorers: Annotated[list[ComparedScorerAnswer], Source(lambda pair: pair[0].scorers)]
    items: Annotated[
        list[ComparedItemAnswer], Source(lambda pair: pair[1].items), Field(description="Worst first.")
    ]
    pagination: Annotated[Pagination, Source(lambda pair: pair[1])]


class ExperimentsBeside(RequestSchema):
    """Two experiments over the dataset."""

    experiment_id_a: Annotated[NotBlank, Field(alias="experimentIdA", description="The baseline.")]
    experiment_id_b: Annotated[NotBlank, Field(alias="experimentIdB")]


class ResultBesideAnswer(ResponseSchema):
    """The result of an item in an experiment."""

    output: Annotated[Any, Field(description="The output of the first attempt that has one.")]
    scores: Annotated[
        dict[str, float | None],
        Field(description="By scorer, the mean over the attempts; null if it could score none."),
    ]


class ItemBesideAnswer(ResponseSchema):
    """An item with its results, by experiment."""

    item_id: str
    input: Any
    ground_truth: Any
    results: dict[str, ResultBesideAnswer | None]


class SideBySideAnswer(ResponseSchema):
    """The outputs and scores of two experiments, item by item."""

    baseline_id: Annotated[str, Source(lambda found: public_id(found.baseline_id))]
    version_mismatch: Annotated[
        bool, Field(description="Whether they are over different versions of the dataset.")
    ]
    items: Annotated[list[ItemBesideAnswer], Source(lambda found: found.items())]
