"""The verbs for experiments, their results, labels and scores."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.scores import passes
from pydantic.alias_generators import to_snake

from capabilities.evaluation.datasets.models import PURGED_TEXT
from capabilities.evaluation.experiments import results, running
from capabilities.evaluation.experiments.models import (
    ENDED,
    RESCORED,
    Cell,
    CellQuerySet,
    CellState,
    Experiment,
    ExperimentOutcome,
    ExperimentQuerySet,
    ExperimentScorer,
    Label,
    Score,
    TargetType,
    public_id,
)
from capabilities.evaluation.experiments.starting import (
    add_cells,
    estimate,
    pin_named_scorers,
    refuse_too_much,
    start,
)
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.scoring.scoring import MISSING, Problem, ScoreOutcome
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.texts import clip
from versioning.domain.times import parse_moment
from versioning.domain.uuids import is_key, is_uuid, parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import events
from versioning.models.querysets import covered_by, within
from versioning.models.rules import validate
from versioning.models.storage import give_back
from versioning.runtime.calls import Stop, stoppable
from versioning.verbs import Verbs

FILTERS: Final = (
    *("experimentSetId", "comparisonId", "variantId", "trialIndex"),
    *("targetType", "targetId", "workspaceId"),
)
"""The filters of the list."""


def list_experiments(
    given: Mapping[str, Any] | None = None, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> ExperimentQuerySet:
    """Return the experiments that the caller may read, by the members of `FILTERS`."""
    rows = Experiment.objects.readable_by(caller_of(by))
    if dataset_id is not None:
        rows = rows.filter(dataset=parse_uuid(dataset_id))
    filters = {to_snake(name): value for name, value in (given or {}).items() if name in FILTERS}
    return rows.filter(**filters)


def find_experiment(
    experiment_id: str,
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
    right: Right = Right.READ_DRAFTS,
) -> Experiment:
    """Return an experiment to a caller who has the right in its workspace; raises `NotFound`, `Forbidden`."""
    return find_among(Experiment.objects.all(), experiment_id, dataset_id, caller_of(by), right)


def find_among(
    rows: ExperimentQuerySet, experiment_id: str, dataset_id: str | None, by: Caller, right: Right
) -> Experiment:
    """Return the experiment among these rows; without a dataset, raises `AmbiguousId`."""
    rows = rows.readable_by(by)
    if dataset_id is not None:
        experiment = rows.in_dataset(parse_uuid(dataset_id), experiment_id).first()
    else:
        experiment = rows.filter(pk=only_key(experiment_id, by)).first()
    if experiment is None:
        raise NotFound
    by.require(right, experiment.workspace_id)
    return experiment


class AmbiguousId(Conflict):
    """The caller may read several experiments with the id, each over another dataset."""

    code = "ambiguous_id"

    def __init__(self) -> None:
        super().__init__(Message("Several experiments have this id: name the dataset of one."))


def only_key(experiment_id: str, by: Caller) -> str:
    """Return the key of the only readable experiment with an id, or the id; raises `AmbiguousId`."""
    keys = Experiment.objects.readable_by(by).keys_of(experiment_id) or [experiment_id]
    if len(keys) > 1:
        raise AmbiguousId
    return keys[0]


@contextmanager
def changing_experiment(experiment_id: str, dataset_id: str | None, by: Who) -> Iterator[Experiment]:
    """Lock an experiment for a transaction; the caller may save in its workspace."""
    with events.transaction():
        yield find_among(Experiment.objects.with_lock(), experiment_id, dataset_id, caller_of(by), Right.SAVE)


@retry_on_conflict
def describe_experiment(
    experiment_id: str, changes: Mapping[str, Any], *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """Change the name, the description or the metadata of an experiment; null clears one."""
    with changing_experiment(experiment_id, dataset_id, by) as experiment:
        if "name" in changes:
            experiment.name = changes["name"] or ""
            validate(experiment, ["name"])
        experiment.set({name: value for name, value in changes.items() if name != "name"})
        experiment.updated_at = timezone.now()
        experiment.save(update_fields=["name", "settings_json", "updated_at"])
    return experiment


@retry_on_conflict
def delete_experiment(experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION) -> None:
    """Delete an experiment with its results and scores, even while it runs.

    Raises `InUse` for one that is evidence for a gate, or newer than such evidence.
    """
    caller = caller_of(by)
    with changing_experiment(experiment_id, dataset_id, caller) as experiment:
        message = Message("A gate counts this experiment, or an older one instead: it cannot be deleted.")
        results.refuse_if_counted(experiment, message)
        about = {"datasetId": str(experiment.dataset_id) if experiment.dataset_id else None}
        experiment.record("deleted", caller, **about)
        experiment.delete()


def review_counts(*, by: Who = APPLICATION) -> list[dict[str, Any]]:
    """Return the numbers of results of each experiment by state of their review."""
    readable = Experiment.objects.readable_by(caller_of(by))
    rows = Cell.objects.over().filter(experiment__in=readable).order_by()
    states = {"needsReview": "needs-review", "reviewed": "reviewed", "complete": "complete"}
    counted = rows.values("experiment_id").annotate(
        experimentId=F("experiment_id"),
        total=Count("pk"),
        **{name: Count("pk", filter=Q(review_status=state)) for name, state in states.items()},
    )
    counts = counted.order_by("experiment_id")
    return [{**row, "experimentId": public_id(row["experimentId"])} for row in counts]


def by_scores(experiment: Experiment, rows: CellQuerySet, given: Mapping[str, str]) -> CellQuerySet:
    """Filter results by `itemId`, by `scorerId`, and by whether that or the primary scorer `passed` them."""
    if "itemId" in given:
        rows = rows.filter(item_id=given["itemId"]) if is_uuid(given["itemId"]) else rows.none()
    if not given.keys() & {"scorerId", "passed"}:
        return rows
    scores = Score.objects.filter(cell__experiment=experiment)
    primary = experiment.scorers.filter(is_primary=True).values_list("scorer_id", flat=True).first()
    scorer_id = given.get("scorerId", primary)
    if scorer_id is not None:
        scores = scores.filter(scorer_id=scorer_id)
    if "passed" in given:
        scores = scores.filter(passed=given["passed"] == "true")
    return rows.filter(pk__in=scores.values("cell"))


@retry_on_conflict
def review_result(
    experiment_id: str,
    result_id: str,
    changes: Mapping[str, Any],
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Cell:
    """Set the review's `status`, `tags` and `comment` of a result; null clears one."""
    with changing_experiment(experiment_id, dataset_id, by) as experiment:
        rows = Cell.objects.over().filter(experiment=experiment).with_revisions()
        cell = rows.filter(pk=int(result_id)).first() if is_key(result_id) else None
        if cell is None:
            raise NotFound
        if "status" in changes:
            cell.review_status = changes["status"] or ""
        if "tags" in changes:
            cell.review_tags = "".join(f"\n{tag}\n" for tag in changes["tags"] or ())
        if "comment" in changes:
            cell.review_comment = changes["comment"] or ""
        cell.save(update_fields=["review_status", "review_tags", "review_comment"])
    return cell


def export_results(
    experiment_id: str,
    *,
    format: str,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Iterator[str]:
    """Return the parts of a file with the current results, in the order in which the items ran.

    `format` is one of `FORMATS`. Raises `NotFound`, as the iterator does if the experiment is deleted before
    it ends.
    """
    return results.FORMATS[format].write(find_experiment(experiment_id, dataset_id=dataset_id, by=by))


FAILED: Final = "failed"
"""The code of an error that was sent without a code."""
_IN_PLACE: Final = ("input", "groundTruth")
"""The members of an item that an application may replace by its own."""


@retry_on_conflict
def submit_result(
    experiment_id: str, given: Mapping[str, Any], *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Cell:
    """Store the result of an item and an attempt, replacing an earlier one.

    Pinned scorers whose scores are not sent score the output, if they need no model. Raises `Invalid` for an
    experiment that has a target, `NotFound` for an unknown item, and `Conflict` for one that has ended.
    """
    caller = caller_of(by)
    with events.transaction():
        experiment = open_experiment(experiment_id, dataset_id, caller)
        if experiment.target_type != TargetType.NONE:
            raise Invalid.field("itemId", Message("is run here: this experiment has a target"))
        cell = find_cell(experiment, given["itemId"], given.get("attempt", 0))
        before = results.counted_as(cell)
        results.put_answer(cell, _sent_answer(given))
        cell.state = CellState.ERROR if cell.error_code else CellState.DONE
        pinned = {scorer.scorer_id: scorer for scorer in experiment.scorers.all()}
        scores: list[results.NewScore] = []
        for sent in given.get("scores", ()):
            scorer = pinned.get(sent["scorerId"])
            outcome = sent_outcome(scorer, sent["score"], sent.get("reason"))
            more = {name: sent[name] for name in ("scorerName", "metadata") if sent.get(name) is not None}
            scores.append((sent["scorerId"], scorer.version_id if scorer else "", outcome, more))
        Score.objects.filter(cell=cell).delete()
        if cell.state == CellState.DONE:
            known = {scorer_id for scorer_id, *_ in scores}
            others = [scorer for scorer_id, scorer in pinned.items() if scorer_id not in known]
            scores += results.score_cell(cell, given.get("output"), others, asks_models=False)
        cell.finish_now(**results.result_columns(cell))
        results.put_scores(experiment, cell, scores)
        results.count(experiment, cell, before, spent={})
    return cell


def open_experiment(experiment_id: str, dataset_id: str | None, by: Caller) -> Experiment:
    """Lock an experiment that no worker runs and that has not ended; raises `Conflict` for others."""
    experiment = find_among(Experiment.objects.with_lock(), experiment_id, dataset_id, by, Right.SAVE)
    if experiment.is_started:
        message = Message("Workers run this experiment; only one made with start: false takes results.")
        raise Conflict(message, code="experiment_started")
    if experiment.outcome:
        raise Conflict(Message("This experiment has ended."), code="experiment_ended")
    return experiment


def find_cell(experiment: Experiment, item_id: str, attempt: int) -> Cell:
    """Return the cell of an item and an attempt in a locked experiment.

    A further attempt makes a cell for every item; cells without a result are skipped in the end. Raises
    `NotFound` for an unknown item.
    """
    of_item = Cell.objects.filter(experiment=experiment, item_id=parse_uuid(item_id))
    if not of_item.exists():
        raise NotFound
    if attempt >= experiment.attempts:
        add_cells_for_attempts(experiment, attempt + 1)
    return of_item.with_revisions().get(attempt=attempt)


def add_cells_for_attempts(experiment: Experiment, attempts: int) -> None:
    """Make the cells of further attempts in a locked experiment; raises `Invalid` for too many."""
    added = range(experiment.attempts, attempts)
    refuse_too_much(experiment.items_count, attempts, experiment.scorers.count())
    experiment.attempts = attempts
    add_cells([experiment], added, now=timezone.now(), is_due=experiment.is_started)
    results.recount(experiment)
    experiment.save()


def _sent_answer(given: Mapping[str, Any]) -> results.Answer:
    error = given.get("error")
    problem = None if error is None else Problem(clip(str(error.get("code") or FAILED), 64), error["message"])
    detail = {name: given[name] for name in _IN_PLACE if name in given}
    if error is not None and error.get("stack"):
        detail["stack"] = error["stack"]
    started, ended = (_parse_time(given, name) for name in ("startedAt", "completedAt"))
    now = timezone.now()
    started = started or ended or now
    ended = ended or now
    return results.Answer(
        output=given.get("output", None if problem is None else MISSING),
        error=problem,
        detail=detail,
        started_at=started,
        ended_at=ended,
        milliseconds=min(max(round((ended - started).total_seconds() * 1000), 0), 2**31 - 1),
        run_id=given.get("traceId") or "",
    )


def _parse_time(given: Mapping[str, Any], name: str) -> datetime.datetime | None:
    if given.get(name) is None:
        return None
    moment = parse_moment(given[name], zone=datetime.UTC)
    if moment is None:
        raise Invalid.field(name, Message("must be a time as in ISO 8601"))
    return moment


def sent_outcome(scorer: ExperimentScorer | None, value: float, reason: str | None) -> ScoreOutcome:
    """Return the outcome of a score that was sent; a pinned scorer decides whether it passes."""
    passed = None if scorer is None else passes(scorer.config, value)
    return ScoreOutcome(score=value, passed=passed, reason=reason)


@retry_on_conflict
def finalize_experiment(
    experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """End an experiment that no worker runs; items without a result are skipped. Idempotent."""
    caller = caller_of(by)
    with changing_experiment(experiment_id, dataset_id, caller) as found:
        if found.outcome:
            return found
        experiment = open_experiment(experiment_id, dataset_id, caller)
        results.stop(experiment, ExperimentOutcome.COMPLETE, caller)
    return experiment


@retry_on_conflict
def cancel_experiment(
    experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """Stop an experiment: no further cells begin, and running ones are dropped. Ended ones are unchanged."""
    caller = caller_of(by)
    with changing_experiment(experiment_id, dataset_id, caller) as experiment:
        if not experiment.outcome:
            results.stop(experiment, ExperimentOutcome.CANCELLED, caller)
            experiment.record("cancelled", caller)
    return experiment


@retry_on_conflict
def resume_experiment(
    experiment_id: str,
    *,
    limits: dict[str, Any] | None = None,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Experiment:
    """Queue failed and skipped cells; outputs on which a scorer failed are scored again.

    `limits` replace the reached ones. Earlier usage still counts.
    """
    with changing_experiment(experiment_id, dataset_id, by) as experiment:
        if not experiment.is_started:
            message = Message("No worker runs this experiment: the application sends its results.")
            raise Conflict(message, code="experiment_not_started")
        if limits is not None:
            experiment.set({"limits": {**experiment.settings.get("limits", {}), **limits}})
        rows = Cell.objects.filter(experiment=experiment)
        again = rows.filter(state__in=[CellState.ERROR, CellState.SKIPPED]).update(
            **ENDED, **results.result_columns(Cell())
        )
        failed = Score.objects.filter(run_id=experiment.pk).exclude(error_code="").values("cell")
        again += rows.filter(pk__in=failed, state=CellState.DONE).update(state=CellState.QUEUED, tries=0)
        experiment.stopped, experiment.started_at = "", None
        _reopen(experiment, again)
    return experiment


def _reopen(experiment: Experiment, queued: int) -> None:
    """Make the queued cells of a locked experiment due, and count them again.

    If the application runs items or sends results, only cells whose output needs scoring become due.
    """
    waiting = Cell.objects.filter(experiment=experiment, state=CellState.QUEUED, due_at=None)
    if not experiment.is_started:
        waiting = waiting.exclude(output_json="")
    waiting.update(due_at=timezone.now())
    if queued:
        experiment.outcome, experiment.ended_at = "", None
    results.recount(experiment)
    experiment.save()


@retry_on_conflict
def add_attempts(
    experiment_id: str, attempts: int, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """Extend every item to this many attempts; existing ones are unchanged. Raises `Invalid`."""
    with changing_experiment(experiment_id, dataset_id, by) as experiment:
        if experiment.dataset_id is None:
            raise Conflict(Message("The dataset of this experiment is deleted."), code="dataset_deleted")
        if attempts > experiment.attempts:
            add_cells_for_attempts(experiment, attempts)
            _reopen(experiment, attempts)
    return experiment


def _is_same(scorer: ExperimentScorer, before: ExperimentScorer | None) -> bool:
    if before is None:
        return False
    return (scorer.version_id, scorer.instructions) == (before.version_id, before.instructions)


@retry_on_conflict
def score_again(
    experiments: Verbs,
    experiment_id: str,
    scorer_ids: Sequence[Any],
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Experiment:
    """Score the existing outputs with the published versions of these scorers.

    They are pinned as well; scores of other versions of the same scorers are dropped. Scores of the same
    version stay, so that a judge cannot be repeated until it passes. Scores of purged items also stay,
    because they cannot be scored any more. Raises `Invalid`, and `InUse` for a draft of a scorer whose scores
    count for a gate, which would allow repeating a judge through another version.
    """
    caller = caller_of(by)
    with changing_experiment(experiment_id, dataset_id, caller) as experiment:
        scorers = pin_named_scorers(experiments.editor, scorer_ids, "scorerIds", caller)
        ids = [scorer.scorer_id for scorer in scorers]
        before = {scorer.scorer_id: scorer for scorer in experiment.scorers.all()}
        other = [
            scorer
            for scorer in scorers
            if scorer.scorer_id in before and not _is_same(scorer, before[scorer.scorer_id])
        ]
        rows = Scorer.objects.filter(pk__in=[scorer.scorer_id for scorer in other]).order_by()
        active = {pk: str(version_id) for pk, version_id in rows.values_list("pk", "active_version_id")}
        drafts = {scorer.scorer_id for scorer in other if active.get(scorer.scorer_id) != scorer.version_id}
        if drafts:
            message = Message(
                "A gate counts these scores: only a published version of the scorer can replace them."
            )
            results.refuse_if_counted(experiment, message, drafts)
        experiment.set(
            {RESCORED: sorted({*experiment.rescored_by, *(scorer.scorer_id for scorer in other)}) or None}
        )
        refuse_too_much(experiment.items_count, experiment.attempts, len(before.keys() | set(ids)))
        changed = [
            scorer.scorer_id for scorer in scorers if not _is_same(scorer, before.get(scorer.scorer_id))
        ]
        experiment.scorers.filter(scorer_id__in=ids).delete()
        for position, scorer in enumerate(scorers, len(before)):
            known = before.get(scorer.scorer_id)
            scorer.experiment, scorer.position = experiment, known.position if known else position
            scorer.is_primary = known.is_primary if known else not before and scorer is scorers[0]
        ExperimentScorer.objects.bulk_create(scorers)
        done = Cell.objects.filter(experiment=experiment, state=CellState.DONE)
        done = done.exclude(revision__payload_json=PURGED_TEXT)
        Score.objects.filter(cell__in=done, scorer_id__in=changed).delete()
        _reopen(experiment, done.update(state=CellState.QUEUED, tries=0))
    return experiment


class Agreement(NamedTuple):
    """The agreement of a scorer with people, as shares of `n` labels; None without labels."""

    n: int
    agree: float | None
    kappa: float | None
    """Cohen's kappa: 1 for full agreement, 0 for chance; None if people gave only one label."""
    majority: float | None
    """The share of the more frequent label, which a constant answer would reach."""


@retry_on_conflict
def add_label(given: Mapping[str, Any], *, dataset_id: str | None = None, by: Who = APPLICATION) -> Label:
    """Store a person's label of a result, replacing the same person's earlier label with this name.

    Raises `NotFound`, `AmbiguousId` without a dataset, `Forbidden` without the right to save, and `Invalid`
    for an item without a result.
    """
    caller = caller_of(by)
    with events.transaction():
        rows = Experiment.objects.with_lock()
        experiment = find_among(rows, given["experimentId"], dataset_id, caller, Right.SAVE)
        about = {"experiment": experiment, "item_id": given["itemId"], "attempt": given.get("attempt", 0)}
        if not is_uuid(given["itemId"]) or not Cell.objects.over().filter(**about).exists():
            raise Invalid.field("itemId", Message("is not an item of this experiment with a result"))
        values = {"value": given["value"], "comment": given.get("comment") or ""}
        mine = Label.objects.filter(**about, name=given["name"], author=caller.user_id)
        label = mine.first() or Label(**about, name=given["name"], author_id=caller.user_id)
        label.value, label.comment, label.updated_at = values["value"], values["comment"], timezone.now()
        label.save()
    return label


def list_labels(given: Mapping[str, Any], *, by: Who = APPLICATION) -> QuerySet[Label]:
    """Return the labels that the caller may read, of an experiment, of an item, or under a name."""
    readable = Experiment.objects.readable_by(caller_of(by))
    labels = Label.objects.filter(experiment__in=readable.order_by().values("pk"))
    if "experimentId" in given:
        labels = labels.filter(experiment__in=readable.keys_of(given["experimentId"]))
    for member, column in (("itemId", "item_id"), ("name", "name")):
        if member in given:
            is_possible = member != "itemId" or is_uuid(given[member])
            labels = labels.filter(**{column: given[member]}) if is_possible else labels.none()
    return labels.select_related("author")


def agreement(experiments: Verbs, scorer_id: str, *, by: Who = APPLICATION) -> Agreement:
    """Return the agreement of a scorer with the labels under its id; raises `NotFound`."""
    caller = caller_of(by)
    scorer = experiments.editor.collection(SCORER).find(scorer_id, by=caller)
    caller.require(Right.READ_DRAFTS, scorer.workspace_id)
    labels = Label.objects.filter(name=scorer_id, experiment__workspace=scorer.workspace_id)
    said = {
        (run, entity, attempt): passed
        for run, entity, attempt, passed in Score.objects.filter(
            scorer_id=scorer_id, workspace=scorer.workspace_id, cell__isnull=False, passed__isnull=False
        ).values_list("run_id", "entity_id", "cell__attempt", "passed")
    }
    pairs = Counter(
        (label.value, bool(said[key]))
        for label in labels
        if isinstance(label.value, bool)
        and (key := (label.experiment_id, str(label.item_id), label.attempt)) in said
    )
    n = pairs.total()
    if not n:
        return Agreement(0, None, None, None)
    agree = (pairs[True, True] + pairs[False, False]) / n
    by_people = (pairs[True, True] + pairs[True, False]) / n
    by_scorer = (pairs[True, True] + pairs[False, True]) / n
    chance = by_people * by_scorer + (1 - by_people) * (1 - by_scorer)
    kappa = None if chance == 1 else (agree - chance) / (1 - chance)
    return Agreement(n, agree, kappa, max(by_people, 1 - by_people))


AGENT_ENTITY: Final = "AGENT"
COLUMNS: Final = {
    **{name: to_snake(name) for name in ("scorerId", "runId", "entityId", "entityType", "source", "reason")},
    "score": "value",
}
"""The members of a score that have columns."""


def readable_scores(by: Who = APPLICATION) -> QuerySet[Score]:
    """Return the scores of the workspaces whose drafts the caller may read.

    A key that is limited to some ids gets no scores of other scorers, agents and experiments.
    """
    caller = caller_of(by)
    scores = Score.objects.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
    if not caller.id_prefix:
        return scores
    missing = Experiment.objects.exclude(pk__in=Experiment.objects.readable_by(caller).values("pk"))
    other_agents = Q(entity_type=AGENT_ENTITY) & ~covered_by(caller, "entity_id")
    return scores.filter(covered_by(caller, "scorer_id")).exclude(
        Q(run_id__in=missing.values("pk")) | other_agents
    )


@retry_on_conflict
def add_score(given: Mapping[str, Any], *, workspace: str | None = None, by: Who = APPLICATION) -> Score:
    """Store a score that an application sends.

    If `runId` is an experiment, `entityId` is one of its items: the score replaces the same scorer's score of
    the attempt (`metadata.attempt`, by default the first). For an experiment with a target, only scores of
    external scorers are accepted. Raises `Invalid`, `Forbidden`, and `NotFound` for an experiment that is
    missing for the caller's key.
    """
    caller = caller_of(by)
    caller.require_covered(given["scorerId"])
    if given.get("entityType") == AGENT_ENTITY:
        caller.require_covered(given["entityId"])
    with events.transaction():
        experiments = Experiment.objects.readable_by(replace(caller, id_prefix=""))
        key = only_key(given["runId"], replace(caller, id_prefix=""))
        experiment = experiments.with_lock().filter(pk=key).first()
        if experiment is not None:
            if not Experiment.objects.readable_by(caller).filter(pk=experiment.pk).exists():
                raise NotFound
            caller.require(Right.SAVE, experiment.workspace_id)
            return _add_to_experiment(experiment, given)
        workspace_id = workspace_for(caller, workspace)
        return Score.objects.create(
            workspace_id=workspace_id,
            updated_at=timezone.now(),
            more_json=canonical.dump({name: value for name, value in given.items() if name not in COLUMNS}),
            **{column: given[name] for name, column in COLUMNS.items() if given.get(name) is not None},
        )


def _add_to_experiment(experiment: Experiment, given: Mapping[str, Any]) -> Score:
    attempt = (given.get("metadata") or {}).get("attempt", 0)
    cell = None
    if is_uuid(given["entityId"]) and isinstance(attempt, int):
        rows = Cell.objects.over().filter(experiment=experiment, item_id=given["entityId"], attempt=attempt)
        cell = rows.first()
    if cell is None:
        raise Invalid.field("entityId", Message("is not an item of this experiment with a result"))
    scorer = experiment.scorers.filter(scorer_id=given["scorerId"]).first()
    if experiment.target_type and scorer is not None and scorer.config["type"] != results.EXTERNAL:
        raise Invalid.field("scorerId", Message("scores this experiment here: its scores are not sent"))
    before = results.counted_as(cell)
    more = {name: value for name, value in given.items() if name not in COLUMNS}
    said = sent_outcome(scorer, given["score"], given.get("reason"))
    version_id = scorer.version_id if scorer else ""
    results.put_scores(experiment, cell, [(given["scorerId"], version_id, said, more)])
    results.count(experiment, cell, before, spent={})
    return Score.objects.get(cell=cell, scorer_id=given["scorerId"])


MAX_WAITING: Final = 10.0
"""The total seconds that a request waits for retries with a provider."""


def run_item(
    experiment_id: str,
    item_id: str,
    *,
    attempt: int = 0,
    context: Mapping[str, Any] | None = None,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Cell:
    """Return the result of an item and an attempt; a failed or missing one is run and scored now.

    An existing output is not produced again, so that no one can repeat a run until it passes; only scorers
    that failed on it score it again. `context` takes precedence over the request context of the experiment,
    and that of the item over both. Raises `Invalid` for an experiment without a target, `NotFound` for an
    unknown item, and `Conflict` for an experiment that has ended, that workers run, or that has reached a
    limit.
    """
    caller = caller_of(by)
    experiment, cell = _find_open_cell(experiment_id, item_id, attempt, dataset_id, caller)
    scorers = running.missing_scorers(experiment, cell)
    answer = running.stored_answer(cell)
    if answer is not None and cell.is_cut:
        scores = list(results.refuse_cut_output(scorers))
    else:
        if answer is None:
            answer = _ask_until(experiment, cell, context or {}, caller)
            results.put_answer(cell, answer)
        give_back()
        with stoppable(Stop()):
            scores = [] if answer.error else list(results.score_cell(cell, answer.output, scorers))
    if not answer.is_stored or scores:
        _record_result(cell, answer, scores, dataset_id, caller)
    return cell


@retry_on_conflict
def _find_open_cell(
    experiment_id: str, item_id: str, attempt: int, dataset_id: str | None, by: Caller
) -> tuple[Experiment, Cell]:
    with events.transaction():
        experiment = open_experiment(experiment_id, dataset_id, by)
        if experiment.target_type == TargetType.NONE:
            raise Invalid.field(
                "targetType", Message("is missing: this experiment accepts results and runs nothing")
            )
        if running.find_exceeded_limit(experiment, timezone.now()):
            raise Conflict(Message("This experiment has reached one of its limits."), code="limit_reached")
        return experiment, find_cell(experiment, item_id, attempt)


def _ask_until(experiment: Experiment, cell: Cell, context: Mapping[str, Any], by: Caller) -> results.Answer:
    """Run the target; retry temporary failures of the provider as long as a request can wait."""
    stop, until = Stop(), time.monotonic() + MAX_WAITING
    for tries in range(running.TRIES):
        cell.tries = tries
        stop.within(experiment.settings.get("limits", {}).get("itemSeconds", running.ITEM_SECONDS))
        try:
            return running.ask(experiment, cell, by, stop, context=context)
        except running.TryAgain as again:
            answer, wait = again.answer, running.wait_for(again.passing, tries)
            if tries == running.TRIES - 1 or time.monotonic() + wait > until:
                break
            give_back()
            time.sleep(wait)
    return answer


@retry_on_conflict
def _record_result(
    cell: Cell, answer: results.Answer, scores: list[results.NewScore], dataset_id: str | None, by: Caller
) -> None:
    """Store the result, replacing an earlier one; raises `Conflict` if the experiment has ended meanwhile."""
    with events.transaction():
        experiment = open_experiment(cell.experiment_id, dataset_id, by)
        before = results.counted_as(Cell.objects.get(pk=cell.pk))
        cell.state = CellState.ERROR if answer.error else CellState.DONE
        cell.finish_now(**results.result_columns(cell))
        results.put_scores(experiment, cell, scores)
        results.count(experiment, cell, before, spent=running.spent_on(answer, scores))


class Experiments(Verbs):
    """The verbs of experiments; `by` is the caller, by default the application."""

    list = staticmethod(list_experiments)
    find = staticmethod(find_experiment)
    start = start
    estimate = estimate
    describe = staticmethod(describe_experiment)
    delete = staticmethod(delete_experiment)
    review_counts = staticmethod(review_counts)
    export_results = staticmethod(export_results)
    review = staticmethod(review_result)
    cancel = staticmethod(cancel_experiment)
    resume = staticmethod(resume_experiment)
    add_attempts = staticmethod(add_attempts)
    score_again = score_again
    submit = staticmethod(submit_result)
    finalize = staticmethod(finalize_experiment)
    add_label = staticmethod(add_label)
    labels = staticmethod(list_labels)
    agreement = agreement
    add_score = staticmethod(add_score)
