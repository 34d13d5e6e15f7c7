"""Stop experiments before their end, and go on with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from capabilities.evaluation.datasets.models import PURGED_TEXT
from capabilities.evaluation.experiments.counting import recount
from capabilities.evaluation.experiments.finding import changing
from capabilities.evaluation.experiments.keeping import refuse_to_drop_scores
from capabilities.evaluation.experiments.models import (
    ENDED,
    RESCORED,
    Cell,
    Experiment,
    ExperimentScorer,
    Outcome,
    Score,
    State,
)
from capabilities.evaluation.experiments.pinning import pinned_scorers_named
from capabilities.evaluation.experiments.recording import finish, result_of
from capabilities.evaluation.experiments.starting import refuse_too_much
from capabilities.evaluation.experiments.submitting import extend, skip_queued
from capabilities.evaluation.scoring.models import Scorer
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Conflict, Message
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.verbs import Verbs


def stop_for(cell: Cell, outcome: str) -> None:
    """Skip a leased cell and what no worker has begun, because of a limit; what runs may still end."""
    with events.transaction():
        found = Experiment.objects.locked().filter(pk=cell.experiment_id, outcome="").first()
        if found is not None:
            cell.release()
            _stop(found, outcome, APPLICATION, waits=True)


def _stop(experiment: Experiment, outcome: str, by: Caller, *, waits: bool) -> None:
    experiment.stopped = outcome
    experiment.save(update_fields=["stopped"])
    skip_queued(experiment, waits=waits)
    if not experiment.queued_count:
        finish(experiment, outcome, by=by)


@retry_on_conflict
def cancel(experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION) -> Experiment:
    """Stop an experiment: nothing more begins, and what runs is dropped. An ended one stays as it is."""
    caller = caller_of(by)
    with changing(experiment_id, dataset_id, caller) as found:
        if not found.outcome:
            _stop(found, Outcome.CANCELLED, caller, waits=False)
            found.record("cancelled", caller)
    return found


@retry_on_conflict
def resume(
    experiment_id: str,
    *,
    limits: dict[str, Any] | None = None,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Experiment:
    """Queue what failed or was skipped; outputs on which a scorer failed are scored again.

    `limits` take the place of those that were reached. What was spent before still counts.
    """
    with changing(experiment_id, dataset_id, by) as found:
        if not found.is_started:
            message = Message("No worker runs this experiment: the application sends its results.")
            raise Conflict(message, code="experiment_not_started")
        if limits is not None:
            found.set({"limits": {**found.settings.get("limits", {}), **limits}})
        rows = Cell.objects.filter(experiment=found)
        again = rows.filter(state__in=[State.ERROR, State.SKIPPED]).update(**ENDED, **result_of(Cell()))
        failed = Score.objects.filter(run_id=found.pk).exclude(error_code="").values("cell")
        again += rows.filter(pk__in=failed, state=State.DONE).update(state=State.QUEUED, tries=0)
        found.stopped, found.started_at = "", None
        _reopen(found, again)
    return found


def _reopen(experiment: Experiment, queued: int) -> None:
    """Make the queued cells of a locked experiment due, and count them anew.

    Where the application asks or sends, those are only the cells whose output is to be scored.
    """
    waiting = Cell.objects.filter(experiment=experiment, state=State.QUEUED, due_at=None)
    if not experiment.is_started:
        waiting = waiting.exclude(output_json="")
    waiting.update(due_at=timezone.now())
    if queued:
        experiment.outcome, experiment.ended_at = "", None
    recount(experiment)
    experiment.save()


@retry_on_conflict
def add_attempts(
    experiment_id: str, attempts: int, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """Let every item have so many attempts; those that there are stay. Raises `Invalid`."""
    with changing(experiment_id, dataset_id, by) as found:
        if found.dataset_id is None:
            raise Conflict(Message("The dataset of this experiment is deleted."), code="dataset_deleted")
        if attempts > found.attempts:
            extend(found, attempts)
            _reopen(found, attempts)
    return found


def _is_same(scorer: ExperimentScorer, before: ExperimentScorer | None) -> bool:
    """Return whether a scorer is as it was, with the text that it judges by."""
    if before is None:
        return False
    return (scorer.version_id, scorer.instructions) == (before.version_id, before.instructions)


def published_among(scorers: Sequence[ExperimentScorer]) -> set[str]:
    """Return the ids of the scorers whose version is the published one."""
    rows = Scorer.objects.filter(pk__in=[scorer.scorer_id for scorer in scorers]).order_by()
    active = {pk: str(version_id) for pk, version_id in rows.values_list("pk", "active_version_id")}
    return {scorer.scorer_id for scorer in scorers if active.get(scorer.scorer_id) == scorer.version_id}


@retry_on_conflict
def score_again(
    experiments: Verbs,
    experiment_id: str,
    scorer_ids: Sequence[Any],
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Experiment:
    """Score the outputs that there are by these scorers, in the versions that are published now.

    They are pinned as well; what the same scorers said before in other versions is dropped. What the very
    same said stays, so that nobody asks a judge until it passes, and so do the scores of purged items, which
    cannot be scored any more. Raises `Invalid`, and `InUse` for a draft of a scorer whose scores count for a
    gate: otherwise a judge could be asked again by way of another version.
    """
    caller = caller_of(by)
    with changing(experiment_id, dataset_id, caller) as found:
        scorers = pinned_scorers_named(experiments.editor, scorer_ids, "scorerIds", caller)
        ids = [scorer.scorer_id for scorer in scorers]
        before = {scorer.scorer_id: scorer for scorer in found.scorers.all()}
        other = [
            scorer
            for scorer in scorers
            if scorer.scorer_id in before and not _is_same(scorer, before[scorer.scorer_id])
        ]
        drafts = {one.scorer_id for one in other} - published_among(other)
        if drafts:
            refuse_to_drop_scores(found, drafts)
        found.set({RESCORED: sorted({*found.rescored_by, *(one.scorer_id for one in other)}) or None})
        refuse_too_much(found.items_count, found.attempts, len(before.keys() | set(ids)))
        changed = [
            scorer.scorer_id for scorer in scorers if not _is_same(scorer, before.get(scorer.scorer_id))
        ]
        found.scorers.filter(scorer_id__in=ids).delete()
        for position, one in enumerate(scorers, len(before)):
            known = before.get(one.scorer_id)
            one.experiment, one.position = found, known.position if known else position
            one.is_primary = known.is_primary if known else not before and one is scorers[0]
        ExperimentScorer.objects.bulk_create(scorers)
        done = Cell.objects.filter(experiment=found, state=State.DONE)
        done = done.exclude(revision__payload_json=PURGED_TEXT)
        Score.objects.filter(cell__in=done, scorer_id__in=changed).delete()
        _reopen(found, done.update(state=State.QUEUED, tries=0))
    return found
