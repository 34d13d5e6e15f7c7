"""Evaluate a function of the application over a dataset: every decision, without I/O."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final

from editor_client.calls import Call
from editor_client.errors import NotFound
from editor_client.manage.experiments import Comparison, Experiment, ExperimentMethods, ExperimentPage
from editor_client.manage.shapes import DatasetPage, DatasetRecord, ItemPage, ItemRecord
from editor_client.pages import listing

Evaluated = Callable[..., Any]
"""Called with the `input` of an item, and with `request_context` if it takes that."""
Scorer = Callable[..., float | bool]
"""Called with `input, output, ground_truth, metadata` by keyword; its name is the scorer's id."""
AT_ONCE: Final = 100


class Step:
    """One call of a function of the application, and what came of it: a value, or why there is none."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._function, self._arguments, self._named = function, arguments, named
        self.value: Any = None
        self.error: str | None = None

    def __call__(self) -> Step:
        """Call it; an exception is a result as well."""
        try:
            self.value = self._function(*self._arguments, **self._named)
        except Exception as error:  # noqa: BLE001  a function of the application may raise anything
            self.error = f"{type(error).__name__}: {error}"
        return self

    async def awaited(self) -> Step:
        """Call it, and await what it returns if that can be awaited."""
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
    """Ask a function every item of a dataset, send the results, and return the comparison.

    `dataset` is a name or an id. The scorers of the dataset score what is sent, and `scorers` are functions
    of the application besides. The baseline is the newest earlier evaluation of the same `name`, by default
    that of the function, unless it is the id of an experiment; the first one is compared with itself. What
    the function raises is the error of that item. Raises `NotFound` for an unknown dataset.
    """
    name = name or _name(function)
    found: DatasetRecord = yield from _dataset(dataset)
    if baseline is None:
        baseline = yield from _newest(found.id, name)
    start = _described(ExperimentMethods.start_experiment)
    started = yield start(None, found.id, start=False, name=name, attempts=attempts)
    experiment: Experiment[Any] = Experiment(None, found.id, started.experiment_id)
    submit = _described(Experiment.submit_result)
    page = 0
    while True:
        path = f"/datasets/{found.id}/items"
        given = {"page": page, "per_page": AT_ONCE, "direction": "ASC", "order_by": "created_at"}
        listed: ItemPage = yield listing(path, ItemPage, {**given, "version": found.version})
        for item in listed.item_records:
            for attempt in range(attempts):
                result = yield from _answered(function, scorers, item)
                yield submit(experiment, item.id, attempt=attempt, **result)
        if not listed.has_more:
            break
        page += 1
    yield _described(Experiment.finalize)(experiment)
    comparison: Comparison = yield _described(Experiment.compare)(
        experiment, baseline=baseline or experiment.id
    )
    return comparison


def _described(method: Any) -> Callable[..., Call[Any]]:
    """Return the description of a method, which makes the call without performing it."""
    describe: Callable[..., Call[Any]] = getattr(method, "__wrapped__", method)
    return describe


def _dataset(name: str) -> Steps:
    page = 0
    while True:
        found: DatasetPage = yield listing("/datasets", DatasetPage, {"page": page, "per_page": AT_ONCE})
        for dataset in found.datasets:
            if name in {dataset.name, dataset.id}:
                return dataset
        if not found.has_more:
            raise NotFound(f"There is no dataset {name!r} that the key may read.")
        page += 1


def _newest(dataset_id: str, name: str) -> Steps:
    path = f"/datasets/{dataset_id}/experiments"
    found: ExperimentPage = yield listing(path, ExperimentPage, {"per_page": AT_ONCE})
    same = (
        experiment.id
        for experiment in found.experiments
        if experiment.name == name and experiment.target_type is None and experiment.outcome == "complete"
    )
    return next(same, None)


def _answered(
    function: Evaluated, scorers: Sequence[Scorer], item: ItemRecord
) -> Generator[Step, Step, dict[str, Any]]:
    """Return the result of an item: the output with its scores, or an error."""
    more = {"request_context": item.request_context or {}} if _takes_context(function) else {}
    answer = yield Step(function, item.input, **more)
    if answer.error is not None:
        return {"error": {"message": answer.error}}
    scores: list[Mapping[str, Any]] = []
    for scorer in scorers:
        given = {"input": item.input, "output": answer.value, "ground_truth": item.ground_truth}
        score = yield Step(scorer, **given, metadata=dict(item.metadata or {}))
        if score.error is not None:
            return {"error": {"message": f"The scorer {_name(scorer)!r} raised {score.error}"}}
        scores.append({"scorerId": _name(scorer), "score": float(score.value)})
    return {"output": answer.value, **({"scores": scores} if scores else {})}


def _takes_context(function: Evaluated) -> bool:
    try:
        return "request_context" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
