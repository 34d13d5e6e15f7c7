"""What the row of an experiment says of its cells: counted with each change of them, in its transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, F, Q

from capabilities.evaluation.experiments.models import Cell, Experiment, Score, State
from versioning.runtime.observing import price_list_date

_COUNTED: Final = {State.DONE: "done_count", State.ERROR: "error_count", State.SKIPPED: "skipped_count"}


@dataclass(frozen=True, kw_only=True)
class Before:
    """What a cell counted as before it got a result."""

    state: str
    is_unscored: bool

    @classmethod
    def of(cls, cell: Cell) -> Before:
        """Return it for a cell."""
        return cls(state=cell.state, is_unscored=is_unscored(cell))


def is_unscored(cell: Cell) -> bool:
    """Return whether a scorer failed on the output of a cell."""
    return cell.state == State.DONE and cell.scores.exclude(error_code="").exists()


def count(experiment: Experiment, cell: Cell, before: Before, *, spent: Mapping[str, int]) -> None:
    """Count a cell in its locked experiment, whose columns are current afterwards."""
    changes: dict[str, int] = {name: value for name, value in spent.items() if value}
    for state, sign in ((before.state, -1), (cell.state, 1)):
        if state in _COUNTED:
            name = _COUNTED[State(state)]
            changes[name] = changes.get(name, 0) + sign
    changes["unscored_count"] = is_unscored(cell) - before.is_unscored
    changes["changes_count"] = 1
    changes = {name: value for name, value in changes.items() if value}
    for name, value in changes.items():
        setattr(experiment, name, getattr(experiment, name) + value)
    experiment.summary_json = ""
    values: dict[str, Any] = {name: F(name) + value for name, value in changes.items()}
    if spent:
        values["prices_of"] = experiment.prices_of = price_list_date()
    Experiment.objects.filter(pk=experiment.pk).update(**values, summary_json="")


def count_change(changed: Q) -> None:
    """Say of experiments that something else in their results has changed than what is counted."""
    Experiment.objects.filter(changed).update(changes_count=F("changes_count") + 1)


def recount(experiment: Experiment) -> None:
    """Count the cells anew; the row has to be locked, and is not saved."""
    rows = Cell.objects.filter(experiment=experiment).order_by()
    states = dict(rows.values_list("state").annotate(number=Count("pk")))
    experiment.cells_count = sum(states.values())
    experiment.done_count = states.get(State.DONE, 0)
    experiment.error_count = states.get(State.ERROR, 0)
    experiment.skipped_count = states.get(State.SKIPPED, 0)
    failed = Score.objects.filter(run_id=experiment.pk).exclude(error_code="").values("cell")
    experiment.unscored_count = rows.filter(state=State.DONE, pk__in=failed).count()
    experiment.changes_count += 1
    experiment.summary_json = ""
