"""Run a cell in a worker: ask the target, score the answer, and record both in one transaction.

A cell with an output is only scored: its scorers failed before, or are new. A killed worker leaves its cells
to others when their leases end; one whose lease is lost records nothing.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from threading import Lock
from typing import Any, Final

from django.db import InterfaceError, OperationalError
from django.db.models import F
from django.utils import timezone

from capabilities.evaluation.experiments import scoring_cells
from capabilities.evaluation.experiments.asking import ITEM_SECONDS, TryAgain, ask, caller_of
from capabilities.evaluation.experiments.counting import Before, count
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer, Outcome, State
from capabilities.evaluation.experiments.pacing import MAX_WAIT, PACING
from capabilities.evaluation.experiments.recording import (
    Answer,
    finish,
    json_of,
    put_answer,
    put_scores,
    result_of,
)
from capabilities.evaluation.experiments.scoring_cells import NewScore
from capabilities.evaluation.experiments.stopping import stop_for
from capabilities.evaluation.scoring.outcomes import Problem
from versioning.domain.errors import VersioningError
from versioning.domain.provider_catalog import in_billionths
from versioning.models import events
from versioning.models.due_work import LeaseLost
from versioning.models.storage import give_back
from versioning.runtime.calls import Stop, stoppable
from versioning.runtime.observing import price_list_date

TRIES: Final = 4
"""How often a provider is asked that cannot be reached, is busy or fails."""
FEW: Final = 10
"""From so many cells on, the share of errors counts."""
ERROR_SHARE: Final = 0.2

logger = logging.getLogger("evaluation")

_running: Final[dict[int, Stop]] = {}
_lock: Final = Lock()


def run(cell: Cell) -> None:
    """Run a leased cell; raises `LeaseLost` if another worker has it by the time there is a result."""
    stop = Stop()
    with _lock:
        _running[cell.pk] = stop
    try:
        _run(cell, stop)
    except CancelledError:
        return  # it was cancelled, or another worker has it
    finally:
        with _lock:
            _running.pop(cell.pk, None)
        PACING.end(cell.provider, cell.workspace_id)


def stop_cancelled() -> None:
    """Stop the cells of this process that were cancelled, or that belong to another worker by now."""
    with _lock:
        running = dict(_running)
    if not running:
        return
    held = set(Cell.objects.filter(pk__in=running).exclude(leased_by="").values_list("pk", flat=True))
    for pk, stop in running.items():
        if pk not in held:
            stop.stop()


def _run(cell: Cell, stop: Stop) -> None:
    experiment = Experiment.objects.filter(pk=cell.experiment_id).first()
    if experiment is None:
        return
    if experiment.started_at is None:
        experiment.started_at = timezone.now()
        Experiment.objects.filter(pk=experiment.pk, started_at=None).update(started_at=experiment.started_at)
    outcome = exceeded(experiment, timezone.now())
    if outcome:
        stop_for(cell, outcome)
        return
    try:
        perform(experiment, cell, stop)
    except TryAgain as again:
        _postpone(cell, again.passing, {})
    except (CancelledError, LeaseLost, OperationalError, InterfaceError):
        raise
    except Exception:
        if cell.attempts - cell.tries < TRIES:
            raise  # the worker logs it, and tries again later
        logger.exception("a cell fails each time", extra={"row": str(cell.pk)})
        failed = Answer(error=Problem("internal_error", "The item could not be run; the log says why."))
        put_answer(cell, failed)
        record(experiment.pk, cell, failed, [])


def perform(experiment: Experiment, cell: Cell, stop: Stop) -> None:
    """Ask and score a cell, and record the result; raises `TryAgain` while there are tries left."""
    answer = stored_answer(cell)
    if answer is not None and cell.is_cut:
        record(experiment.pk, cell, answer, scoring_cells.cut(missing_scorers(experiment, cell)))
        return
    if answer is None:
        answer = _asked(experiment, cell, stop)
        put_answer(cell, answer)
    else:
        cell.output_json, cell.output_digest, cell.is_cut = json_of(answer.output)
    scores = _scored(experiment, cell, answer, stop)
    if scores is not None:
        record(experiment.pk, cell, answer, scores)


def _asked(experiment: Experiment, cell: Cell, stop: Stop) -> Answer:
    stop.within(experiment.settings.get("limits", {}).get("itemSeconds", ITEM_SECONDS))
    try:
        answer = ask(experiment, cell, caller_of(experiment), stop)
        PACING.answered(experiment.provider)
    except VersioningError as error:  # of the rights
        answer = Answer(error=Problem(error.code, str(error.message)))
    except TryAgain as again:
        if cell.tries < TRIES - 1:
            raise
        answer = again.answer
    finally:
        stop.within(None)
    return answer


def stored_answer(cell: Cell) -> Answer | None:
    """Return the answer of a cell that is only to be scored, or None."""
    if not cell.output_json:
        return None
    return Answer(
        output=json.loads(cell.output_json),
        detail=cell.detail,
        milliseconds=cell.milliseconds,
        run_id=cell.run_id,
        started_at=cell.started_at or timezone.now(),
        ended_at=cell.ended_at,
        is_stored=True,
    )


def missing_scorers(experiment: Experiment, cell: Cell) -> list[ExperimentScorer]:
    """Return the scorers that have not scored a cell yet, or have failed."""
    known = set(cell.scores.filter(error_code="").values_list("scorer_id", flat=True))
    return [scorer for scorer in experiment.scorers.all() if scorer.scorer_id not in known]


def _scored(experiment: Experiment, cell: Cell, answer: Answer, stop: Stop) -> list[NewScore] | None:
    """Return what the scorers say; None if a judge is asked again later, for which the answer is kept."""
    if answer.error is not None:
        return []
    missing = missing_scorers(experiment, cell)
    give_back()
    with stoppable(stop):
        scores = list(scoring_cells.scored(cell, answer.output, missing))
    passing = next((one.passing for _, _, one, _ in scores if one.passing is not None), None)
    if passing is None or cell.tries >= TRIES - 1:
        return scores
    put_answer(cell, answer, whole=True)
    with events.transaction():
        _postpone(cell, passing, {name: value for name, value in result_of(cell).items() if name != "state"})
        spend(experiment.pk, answer, scores)
    return None


def _postpone(cell: Cell, passing: Any, columns: Mapping[str, Any]) -> None:
    wait = wait_for(passing, cell.tries)
    if passing.is_limit:
        PACING.refused(cell.provider, wait)
    cell.postpone(wait, **{**columns, "tries": cell.tries + 1})


def wait_for(passing: Any, tries: int) -> float:
    """Return the seconds before the next try: those that the provider names, or twice as long each time.

    No provider can ask for more than `MAX_WAIT`.
    """
    return 2.0**tries if passing.retry_after is None else min(float(passing.retry_after), MAX_WAIT)


def record(experiment_id: str, cell: Cell, answer: Answer, scores: Iterable[NewScore]) -> None:
    """Record the result of a leased cell with its scores; raises `LeaseLost`."""
    scores = list(scores)
    with events.transaction():
        experiment = Experiment.objects.locked().filter(pk=experiment_id).first()
        if experiment is None:
            raise LeaseLost
        before = Before.of(cell)
        cell.state = State.ERROR if answer.error else State.DONE
        cell.finish(**result_of(cell))
        put_scores(experiment, cell, scores)
        count(experiment, cell, before, spent=spent_on(answer, scores))
        is_ours_to_end = experiment.is_started or experiment.stopped  # else the application ends it
        if is_ours_to_end and not experiment.queued_count and not experiment.outcome:
            finish(experiment, experiment.stopped or Outcome.COMPLETE)


def spent_on(answer: Answer, scores: Iterable[NewScore]) -> dict[str, int]:
    """Return what an answer and its scores used, by the columns of the experiment."""
    outcomes = [one for _, _, one, _ in scores]
    costs = [answer.cost, *(outcome.cost for outcome in outcomes)]
    return {
        "input_tokens": answer.input_tokens + sum(outcome.input_tokens for outcome in outcomes),
        "output_tokens": answer.output_tokens + sum(outcome.output_tokens for outcome in outcomes),
        "milliseconds": 0 if answer.is_stored else answer.milliseconds,
        "cost": sum(in_billionths(cost) for cost in costs),
        "unpriced_count": sum(cost is None for cost in costs),
    }


def spend(experiment_id: str, answer: Answer, scores: Iterable[NewScore]) -> None:
    """Count what was used for a cell that is not done yet."""
    spent = {name: F(name) + value for name, value in spent_on(answer, scores).items()}
    Experiment.objects.filter(pk=experiment_id).update(**spent, prices_of=price_list_date())


def exceeded(experiment: Experiment, now: datetime.datetime) -> str:
    """Return the outcome of an experiment that has reached one of its limits; empty for others."""
    limits = experiment.settings.get("limits", {})
    tokens, seconds = limits.get("tokens"), limits.get("seconds")
    if tokens is not None and experiment.input_tokens + experiment.output_tokens >= tokens:
        return Outcome.OVER_BUDGET
    started = experiment.started_at or now
    if seconds is not None and (now - started).total_seconds() >= seconds:
        return Outcome.EXPIRED
    over = experiment.done_count + experiment.error_count
    faults = experiment.error_count + experiment.unscored_count
    if over >= FEW and faults > over * limits.get("errorShare", ERROR_SHARE):
        return Outcome.TOO_MANY_ERRORS
    return ""
