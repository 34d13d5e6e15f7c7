"""The JSON objects of experiments; see also `result_schemas` and `score_schemas`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from capabilities.evaluation.datasets.schemas import Pagination
from capabilities.evaluation.experiments.models import MAX_GROUP, MAX_NAME, public_id
from versioning.api.runs import CostOrNull
from versioning.api.schemas import RequestSchema, ResponseSchema, Source, Time, TimeOrNull, UuidOrNull
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

    cells: Annotated[int, _row("cells_count")]
    done: Annotated[int, _row("done_count")]
    errors: Annotated[int, _row("error_count")]
    skipped: Annotated[int, _row("skipped_count")]
    queued: Annotated[int, _row("queued_count")]
    not_scorable: int


class ExperimentSpent(ResponseSchema):
    """What all tries of an experiment used, those of judges included."""

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

    id: Annotated[str, _row("public_id")]
    workspace_id: Annotated[str, _row("workspace_id")]
    dataset_id: Annotated[
        UuidOrNull, Source(lambda shown: str(shown.row.dataset_id) if shown.row.dataset_id else None)
    ]
    dataset_version: Annotated[int, _row("dataset_version")]
    dataset_digest: Annotated[str, _row("dataset_digest")]
    agent_version: Annotated[str | None, _row_or_null("version_id")]
    target_type: Annotated[str | None, _row_or_null("target_type")]
    target_id: Annotated[str | None, _row_or_null("target_id")]
    scorer_ids: Annotated[list[str], Source(lambda shown: [scorer.scorer_id for scorer in shown.scorers])]
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
    counts: Annotated[ExperimentCounts, Source(lambda shown: shown)]
    spent: Annotated[ExperimentSpent, Source("row")]
    lock: Annotated[JsonObject | None, _row("lock")]
    lock_digest: Annotated[str | None, _row_or_null("lock_digest")]
    attempts: Annotated[int, _row("attempts")]
    pair_of: Annotated[
        str | None, Source(lambda shown: public_id(shown.row.pair_of_id) if shown.row.pair_of_id else None)
    ]
    scorers: list[PinnedScorerAnswer]
    summary: list[ScorerSummary]
    limits: Annotated[JsonObject | None, _setting("limits")]
    unmocked_tool_policy: Annotated[str, _row("tool_policy")]
    request_context: Annotated[
        JsonObject | None,
        Source(lambda shown: shown.row.request_context or None),
        Field(description="In which its items ran, beside their own; null without one."),
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

    experiment_id: Annotated[str, _row("public_id")]
    results: Annotated[list[JsonObject], Source(lambda _shown: [])]


class EstimatedTokens(ResponseSchema):
    """What an experiment would use, about."""

    input_tokens: int
    output_tokens: int
    cost: Annotated[CostOrNull, Source(lambda estimate: cost_dict(estimate.cost, price_list_date()))]


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
