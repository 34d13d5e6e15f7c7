"""Find experiments and their results; change what people say of them, and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.db.models import Count, F, Q
from django.utils import timezone

from capabilities.evaluation.experiments.keeping import refuse_to_delete
from capabilities.evaluation.experiments.models import (
    Cell,
    CellQuerySet,
    Experiment,
    ExperimentQuerySet,
    Score,
    public_id,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Message, NotFound
from versioning.domain.uuids import is_key, is_uuid, parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events

FILTERS: Final = {
    "experimentSetId": "experiment_set_id",
    "comparisonId": "comparison_id",
    "variantId": "variant_id",
    "trialIndex": "trial_index",
    "targetType": "target_type",
    "targetId": "target_id",
    "workspaceId": "workspace",
}
"""The filters of the list, with their columns."""


def list_readable(
    given: Mapping[str, Any] | None = None, *, dataset_id: str | None = None, by: Who = APPLICATION
) -> ExperimentQuerySet:
    """Return the experiments that the caller may read, by the members of `FILTERS`."""
    found = Experiment.objects.readable_by(caller_of(by))
    if dataset_id is not None:
        found = found.filter(dataset=parse_uuid(dataset_id))
    return found.filter(**{FILTERS[name]: value for name, value in (given or {}).items() if name in FILTERS})


def find(
    experiment_id: str,
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
    right: Right = Right.READ_DRAFTS,
) -> Experiment:
    """Return an experiment to a caller who has the right in its workspace; raises `NotFound`, `Forbidden`."""
    return found_in(Experiment.objects.all(), experiment_id, dataset_id, caller_of(by), right)


def found_in(
    rows: ExperimentQuerySet, experiment_id: str, dataset_id: str | None, by: Caller, right: Right
) -> Experiment:
    """Return the experiment among these rows, as `find` does; without a dataset, raises `AmbiguousId`."""
    rows = rows.readable_by(by)
    if dataset_id is not None:
        found = rows.in_dataset(parse_uuid(dataset_id), experiment_id).first()
    else:
        found = rows.filter(pk=only_key(experiment_id, by)).first()
    if found is None:
        raise NotFound
    by.require(right, found.workspace_id)
    return found


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
def changing(experiment_id: str, dataset_id: str | None, by: Who) -> Iterator[Experiment]:
    """Lock an experiment for a transaction; the caller may save in its workspace."""
    with events.transaction():
        yield found_in(Experiment.objects.locked(), experiment_id, dataset_id, caller_of(by), Right.SAVE)


@retry_on_conflict
def describe(
    experiment_id: str, changes: Mapping[str, Any], *, dataset_id: str | None = None, by: Who = APPLICATION
) -> Experiment:
    """Give an experiment another name, description or metadata; null clears one."""
    with changing(experiment_id, dataset_id, by) as found:
        if "name" in changes:
            found.name = changes["name"] or ""
        found.set({name: value for name, value in changes.items() if name != "name"})
        found.updated_at = timezone.now()
        found.save(update_fields=["name", "settings_json", "updated_at"])
    return found


@retry_on_conflict
def delete(experiment_id: str, *, dataset_id: str | None = None, by: Who = APPLICATION) -> None:
    """Delete an experiment with its results and scores; one that runs ends with it.

    Raises `InUse` for one that a gate counts, or that is newer than what it counts.
    """
    caller = caller_of(by)
    with changing(experiment_id, dataset_id, caller) as found:
        refuse_to_delete(found)
        found.record("deleted", caller, datasetId=None if found.dataset_id is None else str(found.dataset_id))
        found.delete()


def review_counts(*, by: Who = APPLICATION) -> list[dict[str, Any]]:
    """Return how many results of each experiment people have to look at, or have looked at."""
    readable = Experiment.objects.readable_by(caller_of(by))
    rows = Cell.objects.over().filter(experiment__in=readable).order_by()
    states = {"needsReview": "needs-review", "reviewed": "reviewed", "complete": "complete"}
    counted = rows.values("experiment_id").annotate(
        experimentId=F("experiment_id"),
        total=Count("pk"),
        **{name: Count("pk", filter=Q(review_status=state)) for name, state in states.items()},
    )
    return [
        {**one, "experimentId": public_id(one["experimentId"])} for one in counted.order_by("experiment_id")
    ]


def result(experiment: Experiment, result_id: str) -> Cell:
    """Return a result of an experiment; raises `NotFound`."""
    rows = Cell.objects.over().filter(experiment=experiment)
    found = rows.with_revisions().filter(pk=int(result_id)).first() if is_key(result_id) else None
    if found is None:
        raise NotFound
    return found


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
def review(
    experiment_id: str,
    result_id: str,
    changes: Mapping[str, Any],
    *,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Cell:
    """Set the `status`, `tags` and `comment` that people give a result; null clears one."""
    with changing(experiment_id, dataset_id, by) as experiment:
        found = result(experiment, result_id)
        if "status" in changes:
            found.review_status = changes["status"] or ""
        if "tags" in changes:
            found.review_tags = "".join(f"\n{tag}\n" for tag in changes["tags"] or ())
        if "comment" in changes:
            found.review_comment = changes["comment"] or ""
        found.save(update_fields=["review_status", "review_tags", "review_comment"])
    return found
