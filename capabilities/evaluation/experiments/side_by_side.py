"""The results of two experiments side by side, with what was answered: as the public client compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Avg

from capabilities.evaluation.experiments.finding import find
from capabilities.evaluation.experiments.models import Cell, Score, State, public_id
from versioning.domain.access import APPLICATION
from versioning.editor.resources import Who
from versioning.models.search import ByteLength

Means = Mapping[str, float | None]


class PairedResult(NamedTuple):
    """What an experiment says of an item."""

    output: Any
    """Of the first attempt that has one."""
    scores: Means
    """By scorer, the mean over the attempts; None if it could not score any."""


class PairedItem(NamedTuple):
    """An item with its results by experiment; None where there is none."""

    item_id: str
    input: Any
    ground_truth: Any
    results: Mapping[str, PairedResult | None]


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two experiments, item by item; the items are read when they are asked for."""

    baseline_id: str
    other_id: str
    version_mismatch: bool
    """Whether they are over different versions of the dataset."""
    item_ids: Sequence[UUID]

    def sizes(self) -> list[int]:
        """Return how large each item is, about, in bytes."""
        found = dict.fromkeys(self.item_ids, 0)
        weight = ByteLength("output_json") + ByteLength("revision__payload_json")
        for item_id, size in self._cells().annotate(size=weight).values_list("item_id", "size"):
            found[item_id] += size or 0
        return list(found.values())

    def items(self) -> list[PairedItem]:
        """Return the items."""
        scores = self._scores()
        shown: dict[UUID, dict[str, Cell]] = {}
        for cell in self._cells().with_revisions().order_by("-attempt"):
            of_item = shown.setdefault(cell.item_id, {})
            if cell.state == State.DONE or of_item.get(cell.experiment_id) is None:
                of_item[cell.experiment_id] = cell  # the last one is the first attempt with an output
        return [self._item(item_id, shown[item_id], scores) for item_id in self.item_ids]

    def _item(
        self, item_id: UUID, cells: Mapping[str, Cell], scores: Mapping[tuple[str, UUID], Means]
    ) -> PairedItem:
        any_cell = cells.get(self.baseline_id) or cells[self.other_id]
        results = {
            public_id(one): PairedResult(cells[one].output, scores.get((one, item_id), {}))
            if one in cells
            else None
            for one in (self.baseline_id, self.other_id)
        }
        return PairedItem(str(item_id), any_cell.member("input"), any_cell.member("groundTruth"), results)

    def _cells(self) -> Any:
        both = Cell.objects.over().filter(experiment__in=[self.baseline_id, self.other_id])
        return both.filter(item_id__in=self.item_ids)

    def _scores(self) -> dict[tuple[str, UUID], dict[str, float | None]]:
        found: dict[tuple[str, UUID], dict[str, float | None]] = {}
        rows = Score.objects.filter(cell__in=self._cells().order_by().values("pk")).order_by()
        of_cell = ("cell__experiment", "cell__item_id", "scorer_id")
        for experiment_id, item_id, scorer_id, mean in (
            rows.values(*of_cell).annotate(mean=Avg("value")).values_list(*of_cell, "mean")
        ):
            found.setdefault((experiment_id, item_id), {})[scorer_id] = mean
        return found


def side_by_side(
    baseline_id: str, other_id: str, *, dataset_id: str, page: slice, by: Who = APPLICATION
) -> SideBySide:
    """Return two experiments over a dataset side by side, with the items of a page in the order of their ids.

    Raises `NotFound` for an experiment that the caller may not read, and for one of another dataset.
    """
    baseline, other = (find(one, dataset_id=dataset_id, by=by) for one in (baseline_id, other_id))
    items = Cell.objects.over().filter(experiment__in=[baseline, other]).order_by("item_id")
    return SideBySide(
        baseline_id=baseline.pk,
        other_id=other.pk,
        version_mismatch=baseline.dataset_version != other.dataset_version,
        item_ids=list(items.values_list("item_id", flat=True).distinct()[page]),
    )
