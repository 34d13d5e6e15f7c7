"""Run an item because a caller asks for it, in an experiment that no worker runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from django.utils import timezone

from capabilities.evaluation.experiments import scoring_cells
from capabilities.evaluation.experiments.asking import ITEM_SECONDS, TryAgain, ask
from capabilities.evaluation.experiments.counting import Before, count
from capabilities.evaluation.experiments.models import Cell, Experiment, State, TargetType
from capabilities.evaluation.experiments.recording import Answer, put_answer, put_scores, result_of
from capabilities.evaluation.experiments.running import (
    TRIES,
    exceeded,
    missing_scorers,
    spent_on,
    stored_answer,
    wait_for,
)
from capabilities.evaluation.experiments.submitting import cell_of, open_experiment
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Conflict, Invalid, Message
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.models.storage import give_back
from versioning.runtime.calls import Stop, stoppable

MAX_WAITING: Final = 10.0
"""How many seconds a request waits in all for a provider that is to be asked again."""


def run_item(
    experiment_id: str,
    item_id: str,
    *,
    attempt: int = 0,
    context: Mapping[str, Any] | None = None,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Cell:
    """Return the result of an item and an attempt; one that failed, or is missing, is run and scored now.

    An output that is there is not asked for again, so that nobody rolls until it passes; only scorers that
    failed on it score it again. `context` takes precedence over the request context of the experiment, and
    that of the item over both. Raises `Invalid` for an experiment without a target, `NotFound` for an unknown
    item, and `Conflict` for an experiment that has ended, that workers run, or that has reached a limit.
    """
    caller = caller_of(by)
    experiment, cell = _begin(experiment_id, item_id, attempt, dataset_id, caller)
    scorers = missing_scorers(experiment, cell)
    answer = stored_answer(cell)
    if answer is not None and cell.is_cut:
        scores = list(scoring_cells.cut(scorers))
    else:
        if answer is None:
            answer = _asked(experiment, cell, context or {}, caller)
            put_answer(cell, answer)
        give_back()
        with stoppable(Stop()):
            scores = [] if answer.error else list(scoring_cells.scored(cell, answer.output, scorers))
    if not answer.is_stored or scores:
        _record(cell, answer, scores, dataset_id, caller)
    return cell


@retry_on_conflict
def _begin(
    experiment_id: str, item_id: str, attempt: int, dataset_id: str | None, by: Caller
) -> tuple[Experiment, Cell]:
    with events.transaction():
        experiment = open_experiment(experiment_id, dataset_id, by)
        if experiment.target_type == TargetType.NONE:
            raise Invalid.field(
                "targetType", Message("is missing: this experiment takes results, and runs nothing")
            )
        if exceeded(experiment, timezone.now()):
            raise Conflict(Message("This experiment has reached one of its limits."), code="limit_reached")
        return experiment, cell_of(experiment, item_id, attempt)


def _asked(experiment: Experiment, cell: Cell, context: Mapping[str, Any], by: Caller) -> Answer:
    """Ask the target; a provider that fails in passing is asked again, as long as a request can wait."""
    stop, until = Stop(), time.monotonic() + MAX_WAITING
    for tries in range(TRIES):
        cell.tries = tries
        stop.within(experiment.settings.get("limits", {}).get("itemSeconds", ITEM_SECONDS))
        try:
            return ask(experiment, cell, by, stop, context=context)
        except TryAgain as again:
            answer, wait = again.answer, wait_for(again.passing, tries)
            if tries == TRIES - 1 or time.monotonic() + wait > until:
                break
            give_back()
            time.sleep(wait)
    return answer


@retry_on_conflict
def _record(
    cell: Cell, answer: Answer, scores: list[scoring_cells.NewScore], dataset_id: str | None, by: Caller
) -> None:
    """Store the result, in place of an earlier one; raises `Conflict` if the experiment has ended by now."""
    with events.transaction():
        experiment = open_experiment(cell.experiment_id, dataset_id, by)
        before = Before.of(Cell.objects.get(pk=cell.pk))
        cell.state = State.ERROR if answer.error else State.DONE
        cell.finish_now(**result_of(cell))
        put_scores(experiment, cell, scores)
        count(experiment, cell, before, spent=spent_on(answer, scores))
