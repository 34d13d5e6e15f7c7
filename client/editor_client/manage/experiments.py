"""Experiments: what a target answers to the items of a dataset, and how that compares with a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, query, reading, segment, text
from editor_client.methods import D_co, Driver, Handle, iterating, iterator, method
from editor_client.pages import Page, Pages, Paging, listing
from editor_client.result import Result, Success, with_json_names

Verdict = Literal["tooFew", "better", "worse", "noDifferenceFound"]


class ExperimentRecord(Result):
    """An experiment, with its counts and what its scorers say."""

    id: str
    name: str | None = None
    dataset_id: str | None = None
    dataset_version: int
    target_type: str | None = None
    target_id: str | None = None
    status: str
    outcome: str | None = None
    """How it ended; None while it runs."""
    attempts: int
    pair_of: str | None = None
    """The experiment that is its baseline."""
    counts: Mapping[str, Any]
    spent: Mapping[str, Any]
    summary: tuple[Mapping[str, Any], ...]


class ExperimentPage(Page[ExperimentRecord]):
    """A page of experiments."""

    experiments: tuple[ExperimentRecord, ...]


class StartedExperiment(Result):
    """An experiment that was started."""

    experiment_id: str
    status: str


class ExperimentEstimate(Result):
    """What an experiment would be."""

    cells: int
    estimate: Mapping[str, Any]
    """About how many `inputTokens` and `outputTokens` it would use, and their `cost`."""
    not_scorable: Mapping[str, int]
    """The items that a scorer cannot score for any answer, by scorer."""
    problems: tuple[Mapping[str, Any], ...]


class ResultRecord(Result):
    """What was answered to an item in one attempt, with its scores."""

    id: str
    item_id: str
    attempt: int
    input: Any = None
    output: Any = None
    metadata: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    scores: tuple[Mapping[str, Any], ...]


class ResultPage(Page[ResultRecord]):
    """A page of results."""

    results: tuple[ResultRecord, ...]


class LeftOut(Result):
    """How many items are in no pair, by the reason."""

    only_here: int
    only_baseline: int
    changed_items: int
    errors: int
    not_scorable: int


class ComparedScorer(Result):
    """What the pairs say together, by one scorer."""

    scorer_id: str
    primary: bool
    wins: int
    losses: int
    ties: int
    difference: float
    interval: tuple[float, ...] | None = None
    """At 95 %: low and high; None where it cannot be given."""
    p: float
    verdict: Verdict
    detectable: int | None = None
    """The least drop in whole points that so many pairs would show 4 times in 5."""


class ComparedItem(Result):
    """An item that both runs scored."""

    item_id: str
    outcome: Literal["win", "loss", "tie"]
    difference: float
    here: float
    baseline: float


class Comparison(Result):
    """What an experiment says compared with its baseline."""

    pairs: int
    left_out: LeftOut
    not_contemporary: bool
    """Whether a day lies between them, or the provider reported another model."""
    scorers: tuple[ComparedScorer, ...]
    items_: tuple[ComparedItem, ...]
    """The member `items`, renamed because `items` is a method here; worst first."""

    @property
    def primary(self) -> ComparedScorer | None:
        """What the primary scorer says."""
        return next((scorer for scorer in self.scorers if scorer.primary), None)


class NewExperiment(TypedDict, total=False):
    """The members of a new experiment."""

    start: bool
    name: str
    description: str
    target_type: Literal["agent", "scorer"]
    target_id: str
    selector: Mapping[str, Any]
    release: str
    version: int
    baseline: str
    attempts: int
    scorer_ids: list[Any]
    primary_scorer: str
    limits: Mapping[str, Any]
    request_context: Mapping[str, Any]


class NewResult(TypedDict, total=False):
    """The members of a result that an application sends."""

    attempt: int
    input: Any
    output: Any
    ground_truth: Any
    error: Mapping[str, Any] | None
    scores: list[Mapping[str, Any]]


class ExperimentFilters(Paging, total=False):
    """The filters of a list of experiments."""

    target_type: str
    target_id: str
    workspace_id: str


class ResultFilters(Paging, total=False):
    """The filters of a list of results."""

    outcome: Literal["win", "loss", "tie", "error", "flaky"]
    baseline: str
    scorer_id: str
    passed: bool
    item_id: str


class Experiment(Handle[D_co]):
    """An experiment over a dataset, by id."""

    def __init__(self, client: D_co, dataset_id: str, experiment_id: str) -> None:
        path = f"/datasets/{segment('dataset_id', dataset_id)}/experiments/{segment('id', experiment_id)}"
        super().__init__(client, experiment_id, path)

    @method
    def details(self) -> Call[ExperimentRecord]:
        """Read the experiment."""
        return Call.to("GET", self._path, reading(ExperimentRecord, id=self.id))

    @method
    def submit_result(self, item_id: str, **fields: Unpack[NewResult]) -> Call[ResultRecord]:
        """Send the result of an item, of an experiment whose application answers by itself."""
        body = {"itemId": item_id, **with_json_names(fields)}
        return Call.to("POST", f"{self._path}/results", reading(ResultRecord), body=body)

    @method
    def finalize(self) -> Call[ExperimentRecord]:
        """End an experiment whose results an application sends."""
        return Call.to("POST", f"{self._path}/finalize", reading(ExperimentRecord, id=self.id), body={})

    @iterator
    def iter_results(self, **filters: Unpack[ResultFilters]) -> Pages[ResultRecord]:
        """Iterate over all results, in the order in which they ran."""
        return Pages.of(f"{self._path}/results", ResultPage, filters)

    @method
    def export_file(self, file_format: Literal["jsonl", "csv", "junit"] = "jsonl") -> Call[str]:
        """Return the results as a file."""
        return Call.to("GET", f"{self._path}/export", text, query=query(format=file_format))

    @method
    def compare(self, *, baseline: str | None = None, per_page: int = 1000) -> Call[Comparison]:
        """Compare it with another experiment, by default with its own baseline."""
        asked = query(per_page=per_page, baseline=baseline)
        return Call.to("GET", f"{self._path}/compare", reading(Comparison), query=asked)

    @method
    def delete(self) -> Call[Success]:
        """Delete it with its results."""
        return Call.to("DELETE", self._path, reading(Success))


class ExperimentMethods(Driver):
    """The methods of a client for experiments."""

    @method
    def list_experiments(self, **filters: Unpack[ExperimentFilters]) -> Call[ExperimentPage]:
        """List the experiments of workspaces whose drafts the key may read, newest first."""
        return listing("/experiments", ExperimentPage, filters)

    iter_experiments = iterating(list_experiments)

    @method
    def start_experiment(self, dataset_id: str, **fields: Unpack[NewExperiment]) -> Call[StartedExperiment]:
        """Start an experiment over a dataset; with `start=False` the application sends the results."""
        path = f"/datasets/{segment('dataset_id', dataset_id)}/experiments"
        return Call.to("POST", path, reading(StartedExperiment), body=with_json_names(fields))

    @method
    def estimate_experiment(
        self, dataset_id: str, **fields: Unpack[NewExperiment]
    ) -> Call[ExperimentEstimate]:
        """Return what an experiment would be and use; nothing is stored."""
        path = f"/datasets/{segment('dataset_id', dataset_id)}/experiments"
        body = {**with_json_names(fields), "dryRun": True}
        return Call.to("POST", path, reading(ExperimentEstimate), body=body)

    def get_experiment(self, dataset_id: str, experiment_id: str) -> Experiment[Self]:
        """Return an experiment; no request is sent yet."""
        return Experiment(self, dataset_id, experiment_id)
