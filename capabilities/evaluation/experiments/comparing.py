"""Read runs from their rows, and compare them."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Avg, F, Q, Value
from editor_client.shared import canonical
from editor_client.shared.pairing import Comparison, ItemOutcome, Run, Scored, Yardstick, compare

from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.experiments.models import Cell, CellState, Experiment, Score, public_id
from capabilities.evaluation.experiments.results import item_tags
from capabilities.evaluation.experiments.verbs import AmbiguousId, find_experiment
from versioning.domain.access import APPLICATION
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import Invalid, Message, NotFound
from versioning.editor.resources import Who
from versioning.models.search import ByteLength
from versioning.models.text_keys import contains

_LOOKED_AT: Final = 100
"""The number of results examined for the models that the provider reported."""
_MEMBERS: Final = ("input", "groundTruth")
_ERROR: Final = "error"
_FLAKY: Final = "flaky"
_ITEM_BYTES: Final = 500
"""The size of a compared item in memory."""
_CACHE: Final[BoundedCache[Hashable, Comparison]] = BoundedCache(16 * 2**20)
"""Comparisons by the states of both runs: one of 10 000 items in five attempts takes seconds."""
OUTCOMES: Final = (*(outcome.value for outcome in ItemOutcome), _ERROR, _FLAKY)
"""The outcomes of an item, for the filter of results."""


def compare_with_baseline(
    experiment_id: str, baseline_id: str | None, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Comparison:
    """Return the comparison of an experiment with another one, by default with its own baseline.

    Raises `NotFound` for an experiment that the caller may not read, and `Invalid` without a baseline.
    """
    here = find_experiment(experiment_id, dataset_id=dataset_id, by=by)
    baseline_id = baseline_id or here.pair_of_id
    if baseline_id is None:
        raise Invalid.field("baseline", Message("is required: this experiment has no baseline"))
    if here.dataset_id is not None:
        with suppress(NotFound):  # otherwise it is over another dataset
            return compare_runs(here, find_experiment(baseline_id, dataset_id=str(here.dataset_id), by=by))
    try:
        return compare_runs(here, find_experiment(baseline_id, by=by))
    except (NotFound, AmbiguousId):
        raise Invalid.field("baseline", Message("does not exist, or you may not read it")) from None


def compare_runs(here: Experiment, baseline: Experiment) -> Comparison:
    """Return the comparison of two experiments; cached until results of one change."""
    key = here.state_of_results, baseline.state_of_results
    cached = _CACHE.get(key)
    if cached is not None:
        return cached
    runs = [read_run(experiment) for experiment in (here, baseline)]
    sent_contents = [_sent_contents(experiment) for experiment in (here, baseline)]
    # The texts are compared if the revisions are not conclusive.
    ids = {item_id for contents in sent_contents for item_id in contents}
    ids |= {
        item_id
        for item_id, revision in runs[0].contents.items()
        if runs[1].contents.get(item_id, revision) != revision
    }
    for index, run in enumerate(runs):
        revisions = [str(run.contents[item_id]) for item_id in ids if item_id in run.contents]
        rows = Revision.objects.filter(pk__in=revisions).values_list("item_id", "payload_json")
        texts = (
            {str(item_id): _content(json.loads(payload)) for item_id, payload in rows} if revisions else {}
        )
        runs[index] = replace(run, contents={**run.contents, **texts, **sent_contents[index]})
    comparison = compare(*runs)
    size = sum(_ITEM_BYTES * scorer.pairs for scorer in comparison.scorers) + _ITEM_BYTES
    _CACHE.put(key, comparison, size)
    return comparison


@dataclass(kw_only=True)
class _Item:
    """The data of an item in a run."""

    revision: int | None
    tokens: list[int] = field(default_factory=list)
    failed: int = 0


def read_run(
    experiment: Experiment, *, tags: Collection[str] = (), cells: Mapping[str, Any] | None = None
) -> Run:
    """Return the data of an experiment; of its items' tags only the named ones.

    `cells` are conditions for the cells to include.
    """
    items = _items(experiment, cells or {})
    yardsticks = {
        scorer.scorer_id: Yardstick.of(
            scorer.scorer_id, scorer.config, scorer.instructions, is_primary=scorer.is_primary
        )
        for scorer in experiment.scorers.all()
    }
    scores = _scores(experiment, cells or {})
    for scorer_id in sorted(scores.keys() - yardsticks.keys()):
        yardsticks[scorer_id] = Yardstick.for_sent_scores(scorer_id)
    for of_scorer in (scores.setdefault(scorer_id, {}) for scorer_id in yardsticks):
        for item_id, item in items.items():
            if item.failed:
                of_scorer.setdefault(item_id, Scored()).errors += item.failed
    with_models = contains(F("detail_json"), Value('"models"'))
    rows = Cell.objects.filter(with_models, experiment=experiment, state=CellState.DONE)
    details = (json.loads(row) for row in rows.values_list("detail_json", flat=True)[:_LOOKED_AT])
    return Run(
        id=experiment.pk,
        started_at=experiment.started_at or experiment.created_at,
        models=frozenset(str(model) for detail in details for model in detail.get("models", ())),
        attempts=experiment.attempts,
        yardsticks=yardsticks,
        contents={item_id: item.revision for item_id, item in items.items()},
        scores=scores,
        tokens={item_id: fmean(item.tokens) for item_id, item in items.items() if item.tokens},
        tags=_read_tags(experiment, tags),
    )


def _items(experiment: Experiment, cells: Mapping[str, Any]) -> dict[str, _Item]:
    items: dict[str, _Item] = {}
    columns = ("item_id", "revision_id", "state", "input_tokens", "output_tokens")
    for item_id, revision, state, *tokens in Cell.objects.filter(
        experiment=experiment, state__in=[CellState.DONE, CellState.ERROR], **cells
    ).values_list(*columns):
        item = items.setdefault(str(item_id), _Item(revision=revision))
        if state == CellState.DONE:
            item.tokens.append(sum(tokens))
        else:
            item.failed += 1
    return items


def _scores(experiment: Experiment, cells: Mapping[str, Any]) -> dict[str, dict[str, Scored]]:
    scores: dict[str, dict[str, Scored]] = {}
    columns = ("scorer_id", "cell__item_id", "value", "passed", "error_code")
    rows = Score.objects.filter(cell__experiment=experiment, cell__state=CellState.DONE, not_scorable="")
    rows = rows.filter(**{f"cell__{name}": value for name, value in cells.items()})
    for scorer_id, item_id, value, passed, error in rows.order_by("cell__attempt").values_list(*columns):
        scored = scores.setdefault(scorer_id, {}).setdefault(str(item_id), Scored())
        if value is None:
            scored.errors += bool(error)
            continue
        scored.values.append(value)
        if passed is not None:
            scored.passed.append(passed)
    return scores


def _read_tags(experiment: Experiment, tags: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the items' tags, among these, at the version of the dataset that was run."""
    if not tags or experiment.dataset is None:
        return {}
    condition = Q()
    for tag in tags:
        condition |= contains(F("payload_json"), Value(canonical.dump(tag)))
    rows = Revision.objects.of_version(experiment.dataset, experiment.dataset_version).filter(condition)
    tags_by_item = {}
    for item_id, payload in rows.values_list("item_id", "payload_json"):
        tags_by_item[str(item_id)] = frozenset(tags).intersection(item_tags(json.loads(payload)))
    purged = Cell.objects.filter(experiment=experiment).exclude(item_tags="")
    for item_id, tags_text in purged.values_list("item_id", "item_tags"):
        tags_by_item[str(item_id)] = frozenset(tags).intersection(tags_text.split("\n"))
    return tags_by_item


def _sent_contents(experiment: Experiment) -> dict[str, Hashable]:
    """Return the contents of items that an application sent with its results."""
    if experiment.target_type:
        return {}
    condition = Q()
    for member in _MEMBERS:
        condition |= contains(F("detail_json"), Value(f'"{member}"'))
    rows = Cell.objects.filter(condition, experiment=experiment).with_revisions()
    return {
        str(cell.item_id): _content({member: cell.member(member) for member in _MEMBERS}) for cell in rows
    }


def _content(payload: Mapping[str, Any]) -> Hashable:
    return canonical.comparable({member: payload.get(member) for member in _MEMBERS})


def with_outcome(experiment: Experiment, outcome: str, baseline_id: str | None, *, by: Who) -> Q:
    """Return the condition for results with one of `OUTCOMES`; raises as `compare_with_baseline` does."""
    if outcome == _ERROR:
        failed = Score.objects.filter(cell__experiment=experiment).exclude(error_code="")
        return Q(state=CellState.ERROR) | Q(pk__in=failed.values("cell"))
    if outcome == _FLAKY:
        run = read_run(experiment)
        scores = run.scores.get(run.primary or "", {})
        return Q(item_id__in=[item_id for item_id, score in scores.items() if score.is_flaky])
    dataset_id = None if experiment.dataset_id is None else str(experiment.dataset_id)
    comparison = compare_with_baseline(experiment.pk, baseline_id, dataset_id=dataset_id, by=by)
    return Q(item_id__in=[item.item_id for item in comparison.items if item.outcome == outcome])


class PairedResult(NamedTuple):
    """The result of an item in an experiment."""

    output: Any
    """Of the first attempt that has one."""
    scores: Mapping[str, float | None]
    """By scorer, the mean over the attempts; None if it could score none."""


class PairedItem(NamedTuple):
    """An item with its results by experiment; None if there is none."""

    item_id: str
    input: Any
    ground_truth: Any
    results: Mapping[str, PairedResult | None]


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two experiments, item by item; the items are read on demand."""

    baseline_id: str
    other_id: str
    version_mismatch: bool
    """Whether they are over different versions of the dataset."""
    item_ids: Sequence[UUID]

    def sizes(self) -> list[int]:
        """Return the approximate size of each item in bytes."""
        sizes = dict.fromkeys(self.item_ids, 0)
        weight = ByteLength("output_json") + ByteLength("revision__payload_json")
        for item_id, size in self._cells().annotate(size=weight).values_list("item_id", "size"):
            sizes[item_id] += size or 0
        return list(sizes.values())

    def items(self) -> list[PairedItem]:
        """Return the items."""
        both = (self.baseline_id, self.other_id)
        means: dict[tuple[str, UUID], dict[str, float | None]] = {}
        of_cell = ("cell__experiment", "cell__item_id", "scorer_id")
        scores = Score.objects.filter(cell__in=self._cells().order_by().values("pk")).order_by()
        rows = scores.values(*of_cell).annotate(mean=Avg("value")).values_list(*of_cell, "mean")
        for experiment_id, item_id, scorer_id, mean in rows:
            means.setdefault((experiment_id, item_id), {})[scorer_id] = mean
        cells: dict[UUID, dict[str, Cell]] = {}
        for cell in self._cells().with_revisions().order_by("-attempt"):
            cells_of_item = cells.setdefault(cell.item_id, {})
            if cell.state == CellState.DONE or cells_of_item.get(cell.experiment_id) is None:
                cells_of_item[cell.experiment_id] = cell  # the last one is the first attempt with an output
        paired = []
        for item_id in self.item_ids:
            cells_of_item = cells[item_id]
            cell = cells_of_item.get(self.baseline_id) or cells_of_item[self.other_id]
            results = {
                public_id(key): PairedResult(cells_of_item[key].output, means.get((key, item_id), {}))
                if key in cells_of_item
                else None
                for key in both
            }
            paired.append(PairedItem(str(item_id), cell.member("input"), cell.member("groundTruth"), results))
        return paired

    def _cells(self) -> Any:
        both = Cell.objects.over().filter(experiment__in=[self.baseline_id, self.other_id])
        return both.filter(item_id__in=self.item_ids)


def side_by_side(
    baseline_id: str, other_id: str, *, dataset_id: str, page: slice, by: Who = APPLICATION
) -> SideBySide:
    """Return two experiments over a dataset side by side, with the items of a page in the order of their ids.

    Raises `NotFound` for an experiment that the caller may not read, and for one of another dataset.
    """
    baseline, other = (find_experiment(key, dataset_id=dataset_id, by=by) for key in (baseline_id, other_id))
    items = Cell.objects.over().filter(experiment__in=[baseline, other]).order_by("item_id")
    return SideBySide(
        baseline_id=baseline.pk,
        other_id=other.pk,
        version_mismatch=baseline.dataset_version != other.dataset_version,
        item_ids=list(items.values_list("item_id", flat=True).distinct()[page]),
    )
