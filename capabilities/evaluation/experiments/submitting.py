"""Results that an application sends, for experiments that no worker runs."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.db.models.functions import Now
from django.utils import timezone
from editor_client.shared.scores import passes

from capabilities.evaluation.experiments.cells import add_cells
from capabilities.evaluation.experiments.counting import Before, count, recount
from capabilities.evaluation.experiments.finding import changing, found_in
from capabilities.evaluation.experiments.models import (
    ENDED,
    Cell,
    Experiment,
    ExperimentScorer,
    Outcome,
    Score,
    State,
    TargetType,
)
from capabilities.evaluation.experiments.recording import Answer, finish, put_answer, put_scores, result_of
from capabilities.evaluation.experiments.scoring_cells import scored
from capabilities.evaluation.experiments.starting import refuse_too_much
from capabilities.evaluation.scoring import outcomes
from capabilities.evaluation.scoring.outcomes import MISSING, Problem
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.texts import clip
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events

MAX_ATTEMPTS: Final = 20
FAILED: Final = "failed"
"""The code of an error that was sent without one."""
_IN_PLACE: Final = ("input", "groundTruth")
"""Members of an item in whose place an application may send others."""


@retry_on_conflict
def submit(
    experiment_id: str,
    given: Mapping[str, Any],
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Cell:
    """Store the result of an item and an attempt, in place of an earlier one.

    The pinned scorers whose scores are not sent score the output, if they need no model. Raises `Invalid` for
    an experiment that has a target, `NotFound` for an unknown item, and `Conflict` for one that has ended.
    """
    caller = caller_of(by)
    with events.transaction():
        experiment = open_experiment(experiment_id, dataset_id, caller)
        if experiment.target_type != TargetType.NONE:
            raise Invalid.field("itemId", Message("is run here: this experiment has a target"))
        cell = cell_of(experiment, given["itemId"], given.get("attempt", 0))
        before = Before.of(cell)
        put_answer(cell, _answer(given))
        cell.state = State.ERROR if cell.error_code else State.DONE
        sent = list(_sent_scores(experiment, given.get("scores", ())))
        known = {scorer_id for scorer_id, *_ in sent}
        others = [scorer for scorer in experiment.scorers.all() if scorer.scorer_id not in known]
        Score.objects.filter(cell=cell).delete()
        if cell.state == State.DONE:
            sent += scored(cell, given.get("output"), others, asks_models=False)
        cell.finish_now(**result_of(cell))
        put_scores(experiment, cell, sent)
        count(experiment, cell, before, spent={})
    return cell


def open_experiment(experiment_id: str, dataset_id: str | None, by: Caller) -> Experiment:
    """Lock an experiment that no worker runs and that has not ended; raises `Conflict` for others."""
    found = found_in(Experiment.objects.locked(), experiment_id, dataset_id, by, Right.SAVE)
    if found.is_started:
        message = Message("Workers run this experiment; only one made with start: false takes results.")
        raise Conflict(message, code="experiment_started")
    if found.outcome:
        raise Conflict(Message("This experiment has ended."), code="experiment_ended")
    return found


def cell_of(experiment: Experiment, item_id: str, attempt: int) -> Cell:
    """Return the cell of an item and an attempt in a locked experiment.

    A further attempt makes one for every item: what nobody sends of it is skipped in the end. Raises
    `NotFound` for an unknown item.
    """
    of_item = Cell.objects.filter(experiment=experiment, item_id=parse_uuid(item_id))
    if not of_item.exists():
        raise NotFound
    if attempt >= experiment.attempts:
        extend(experiment, attempt + 1)
    return of_item.with_revisions().get(attempt=attempt)


def extend(experiment: Experiment, attempts: int) -> None:
    """Make the cells of further attempts in a locked experiment; raises `Invalid` for too many."""
    added = range(experiment.attempts, attempts)
    refuse_too_much(experiment.items_count, attempts, experiment.scorers.count())
    experiment.attempts = attempts
    add_cells([experiment], added, now=timezone.now(), is_due=experiment.is_started)
    recount(experiment)
    experiment.save()


def _answer(given: Mapping[str, Any]) -> Answer:
    error = given.get("error")
    problem = None if error is None else Problem(clip(str(error.get("code") or FAILED), 64), error["message"])
    detail = {name: given[name] for name in _IN_PLACE if name in given}
    if error is not None and error.get("stack"):
        detail["stack"] = error["stack"]
    started, ended = (_moment(given, name) for name in ("startedAt", "completedAt"))
    now = timezone.now()
    started = started or ended or now
    ended = ended or now
    return Answer(
        output=given.get("output", None if problem is None else MISSING),
        error=problem,
        detail=detail,
        started_at=started,
        ended_at=ended,
        milliseconds=min(max(round((ended - started).total_seconds() * 1000), 0), 2**31 - 1),
        run_id=given.get("traceId") or "",
    )


def _moment(given: Mapping[str, Any], name: str) -> datetime.datetime | None:
    if given.get(name) is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(given[name])
    except ValueError:
        raise Invalid.field(name, Message("must be a time as in ISO 8601")) from None
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _sent_scores(
    experiment: Experiment, given: Any
) -> Iterator[tuple[str, str, outcomes.Outcome, Mapping[str, Any]]]:
    pinned = {one.scorer_id: one for one in experiment.scorers.all()}
    for one in given:
        scorer = pinned.get(one["scorerId"])
        more = {name: one[name] for name in ("scorerName", "metadata") if one.get(name) is not None}
        yield (
            one["scorerId"],
            scorer.version_id if scorer else "",
            outcome_of(scorer, one["score"], one.get("reason")),
            more,
        )


def outcome_of(scorer: ExperimentScorer | None, value: float, reason: str | None) -> outcomes.Outcome:
    """Return the outcome of a score that was sent; a pinned scorer decides whether it passes."""
    passed = None if scorer is None else passes(scorer.config, value)
    return outcomes.Outcome(score=value, passed=passed, reason=reason)


@retry_on_conflict
def finalize(experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION) -> Experiment:
    """End an experiment that no worker runs; items without a result are skipped. Again: nothing changes."""
    caller = caller_of(by)
    with changing(experiment_id, dataset_id, caller) as found:
        if found.outcome:
            return found
        experiment = open_experiment(experiment_id, dataset_id, caller)
        experiment.stopped = Outcome.COMPLETE
        experiment.save(update_fields=["stopped"])
        skip_queued(experiment)
        finish(experiment, Outcome.COMPLETE, by=caller)
    return experiment


def skip_queued(experiment: Experiment, *, waits: bool = False) -> None:
    """Skip the queued cells of a locked experiment; those with an output are done, and not scored any more.

    With `waits` those that a worker runs stay; otherwise the worker finds that its lease is lost.
    """
    queued = Cell.objects.filter(experiment=experiment, state=State.QUEUED)
    if waits:
        queued = queued.exclude(leased_until__gt=Now())
    experiment.done_count += queued.exclude(output_json="").update(state=State.DONE, **ENDED)
    experiment.skipped_count += queued.update(state=State.SKIPPED, **ENDED)
    experiment.changes_count += 1
    experiment.save(update_fields=["done_count", "skipped_count", "changes_count"])
