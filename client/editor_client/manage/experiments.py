"""Experiments on datasets, those of the application's own functions, and gates, which require them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, query, reading, segment, text
from editor_client.errors import NotFound
from editor_client.manage.shapes import (
    DatasetPage,
    DatasetRecord,
    GateChanges,
    GateCheck,
    GateFilters,
    GatePage,
    GateRecord,
    ItemPage,
    ItemRecord,
    StartedExperiments,
)
from editor_client.methods import (
    ById,
    D_co,
    Driver,
    Handle,
    Page,
    Pages,
    Paging,
    iterating,
    iterator,
    listing,
    method,
)
from editor_client.result import Result, Success, with_json_names

Verdict = Literal["tooFew", "better", "worse", "noDifferenceFound"]


class ExperimentRecord(Result):
    """An experiment, with its counts and the summaries of its scorers."""

    id: str
    name: str | None = None
    dataset_id: str | None = None
    dataset_version: int
    target_type: str | None = None
    target_id: str | None = None
    status: str
    outcome: str | None = None
    """The outcome; None while it runs."""
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
    """The estimate of an experiment."""

    cells: int
    estimate: Mapping[str, Any]
    """The approximate `inputTokens` and `outputTokens`, and their `cost`."""
    not_scorable: Mapping[str, int]
    """The number of items that a scorer cannot score for any answer, by scorer."""
    problems: tuple[Mapping[str, Any], ...]


class ResultRecord(Result):
    """The answer to an item in one attempt, with its scores."""

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
    """The number of items in no pair, by reason."""

    only_here: int
    only_baseline: int
    changed_items: int
    errors: int
    not_scorable: int


class ComparedScorer(Result):
    """The comparison of the pairs by one scorer."""

    scorer_id: str
    primary: bool
    wins: int
    losses: int
    ties: int
    difference: float
    interval: tuple[float, ...] | None = None
    """The 95 % interval, low and high; None if it cannot be computed."""
    p: float
    verdict: Verdict
    detectable: int | None = None
    """The smallest drop in whole points that this many pairs would detect 4 times in 5."""


class ComparedItem(Result):
    """An item that both runs scored."""

    item_id: str
    outcome: Literal["win", "loss", "tie"]
    difference: float
    here: float
    baseline: float


class Comparison(Result):
    """The comparison of an experiment with its baseline."""

    pairs: int
    left_out: LeftOut
    not_contemporary: bool
    """Whether they ran on different days, or the provider reported different models."""
    scorers: tuple[ComparedScorer, ...]
    items_: tuple[ComparedItem, ...]
    """The member `items`, renamed because `items` is a method here; worst first."""

    @property
    def primary(self) -> ComparedScorer | None:
        """The comparison by the primary scorer."""
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
        """Send the result of an item, for an experiment whose application produces the answers."""
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
        params = query(per_page=per_page, baseline=baseline)
        return Call.to("GET", f"{self._path}/compare", reading(Comparison), query=params)

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
        """Return an estimate of an experiment; nothing is stored."""
        path = f"/datasets/{segment('dataset_id', dataset_id)}/experiments"
        body = {**with_json_names(fields), "dryRun": True}
        return Call.to("POST", path, reading(ExperimentEstimate), body=body)

    def get_experiment(self, dataset_id: str, experiment_id: str) -> Experiment[Self]:
        """Return an experiment; no request is sent yet."""
        return Experiment(self, dataset_id, experiment_id)


Evaluated = Callable[..., Any]
"""Called with the `input` of an item, and with `request_context` if it takes that."""
Scorer = Callable[..., float | bool]
"""Called with `input, output, ground_truth, metadata` by keyword; its name is the scorer's id."""
AT_ONCE: Final = 100


class Step:
    """One call of a function of the application, with its result: a value or an error."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        self._function, self._arguments, self._keywords = function, arguments, keywords
        self.value: Any = None
        self.error: str | None = None

    def __call__(self) -> Step:
        """Call it; an exception also counts as a result."""
        try:
            self.value = self._function(*self._arguments, **self._keywords)
        except Exception as error:  # noqa: BLE001  a function of the application may raise anything
            self.error = f"{type(error).__name__}: {error}"
        return self

    async def run_and_await(self) -> Step:
        """Call it, and await its return value if that is awaitable."""
        self()
        if inspect.isawaitable(self.value):
            try:
                self.value = await self.value
            except Exception as error:  # noqa: BLE001  as above
                self.value, self.error = None, f"{type(error).__name__}: {error}"
        return self


Steps = Generator[Call[Any] | Step, Any, Any]


def evaluation(
    function: Evaluated,
    *,
    dataset: str,
    scorers: Sequence[Scorer] = (),
    attempts: int = 1,
    name: str | None = None,
    baseline: str | None = None,
) -> Generator[Call[Any] | Step, Any, Comparison]:
    """Evaluate a function on every item of a dataset, send the results, and return the comparison.

    `dataset` is a name or an id. The scorers of the dataset score the results; `scorers` are additional
    functions of the application. The baseline is the newest earlier evaluation of the same `name`, by default
    that of the function, unless it is the id of an experiment; the first one is compared with itself. An
    exception of the function is the error of that item. Raises `NotFound` for an unknown dataset.
    """
    name = name or _name(function)
    record: DatasetRecord = yield from _dataset(dataset)
    if baseline is None:
        baseline = yield from _newest(record.id, name)
    start = _describe_method(ExperimentMethods.start_experiment)
    started = yield start(None, record.id, start=False, name=name, attempts=attempts)
    experiment: Experiment[Any] = Experiment(None, record.id, started.experiment_id)
    submit = _describe_method(Experiment.submit_result)
    page = 0
    while True:
        path = f"/datasets/{record.id}/items"
        params = {"page": page, "per_page": AT_ONCE, "direction": "ASC", "order_by": "created_at"}
        item_page: ItemPage = yield listing(path, ItemPage, {**params, "version": record.version})
        for item in item_page.item_records:
            for attempt in range(attempts):
                result = yield from _build_result(function, scorers, item)
                yield submit(experiment, item.id, attempt=attempt, **result)
        if not item_page.has_more:
            break
        page += 1
    yield _describe_method(Experiment.finalize)(experiment)
    comparison: Comparison = yield _describe_method(Experiment.compare)(
        experiment, baseline=baseline or experiment.id
    )
    return comparison


def _describe_method(method: Any) -> Callable[..., Call[Any]]:
    """Return the description of a method, which makes the call without performing it."""
    describe: Callable[..., Call[Any]] = getattr(method, "__wrapped__", method)
    return describe


def _dataset(name: str) -> Steps:
    page = 0
    while True:
        response: DatasetPage = yield listing("/datasets", DatasetPage, {"page": page, "per_page": AT_ONCE})
        for dataset in response.datasets:
            if name in {dataset.name, dataset.id}:
                return dataset
        if not response.has_more:
            raise NotFound(f"There is no dataset {name!r} that the key may read.")
        page += 1


def _newest(dataset_id: str, name: str) -> Steps:
    path = f"/datasets/{dataset_id}/experiments"
    response: ExperimentPage = yield listing(path, ExperimentPage, {"per_page": AT_ONCE})
    experiment_ids = (
        experiment.id
        for experiment in response.experiments
        if experiment.name == name and experiment.target_type is None and experiment.outcome == "complete"
    )
    return next(experiment_ids, None)


def _build_result(
    function: Evaluated, scorers: Sequence[Scorer], item: ItemRecord
) -> Generator[Step, Step, dict[str, Any]]:
    """Return the result of an item: the output with its scores, or an error."""
    more = {}
    with suppress(TypeError, ValueError):  # some callables have no signature
        if "request_context" in inspect.signature(function).parameters:
            more["request_context"] = item.request_context or {}
    answer = yield Step(function, item.input, **more)
    if answer.error is not None:
        return {"error": {"message": answer.error}}
    scores: list[Mapping[str, Any]] = []
    for scorer in scorers:
        arguments = {"input": item.input, "output": answer.value, "ground_truth": item.ground_truth}
        score = yield Step(scorer, **arguments, metadata=dict(item.metadata or {}))
        if score.error is not None:
            return {"error": {"message": f"The scorer {_name(scorer)!r} raised {score.error}"}}
        scores.append({"scorerId": _name(scorer), "score": float(score.value)})
    return {"output": answer.value, **({"scores": scores} if scores else {})}


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


class Gate(ById[D_co, GateRecord]):
    """A gate, by id."""

    _address, _record = "/gates", GateRecord

    @method
    def update(self, **changes: Unpack[GateChanges]) -> Call[GateRecord]:
        """Change the given members of the gate."""
        return Call.to("PATCH", self._path, self._read, body=_body(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the gate."""
        return Call.to("DELETE", self._path, reading(Success))


class GateMethods(Driver):
    """The methods of a client for gates."""

    @method
    def list_gates(self, **filters: Unpack[GateFilters]) -> Call[GatePage]:
        """List the gates of workspaces whose drafts the key may read, oldest first."""
        return listing("/gates", GatePage, filters)

    iter_gates = iterating(list_gates)

    @method
    def create_gate(
        self, agent_id: str | None = None, *, workspace_id: str | None = None, **fields: Unpack[GateChanges]
    ) -> Call[GateRecord]:
        """Require evidence before versions of an agent, or of every agent of a workspace, go live.

        `dataset_id`, `scorer_ids` and `rules` are required: `rules=[{"rule": "notWorse"}]`.
        """
        resource = None if agent_id is None else {"kind": "agent", "id": agent_id}
        body = {"resource": resource, **_body(fields)}
        if workspace_id is not None:
            body["workspaceId"] = workspace_id
        return Call.to("POST", "/gates", reading(GateRecord), body=body)

    def get_gate(self, gate_id: str) -> Gate[Self]:
        """Return a gate; no request is sent yet."""
        return Gate(self, gate_id)

    @method
    def check_gates(
        self,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        *,
        version_id: str | None = None,
        release_id: str | None = None,
    ) -> Call[GateCheck]:
        """Check the gates for a version, by default the latest, or for a release."""
        params = query(kind=kind, id=resource_id, version_id=version_id, release=release_id)
        return Call.to("GET", "/gates/check", reading(GateCheck), query=params)

    @method
    def run_gates(
        self,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        *,
        version_id: str | None = None,
        release_id: str | None = None,
    ) -> Call[StartedExperiments]:
        """Start the experiments whose results the gates lack, including those of live versions."""
        body: dict[str, Any] = {}
        if kind is not None and resource_id is not None:
            body["resource"] = {"kind": kind, "id": resource_id}
        if version_id is not None:
            body["versionId"] = version_id
        if release_id is not None:
            body["releaseId"] = release_id
        return Call.to("POST", "/gates/run", reading(StartedExperiments), body=body)


def _body(fields: GateChanges) -> dict[str, Any]:
    values: Mapping[str, Any] = fields
    lists = {"scorer_ids", "rules"}
    return with_json_names({name: list(value) if name in lists else value for name, value in values.items()})
