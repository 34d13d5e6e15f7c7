"""Start experiments: pin everything, and make the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from django.db import IntegrityError
from django.utils import timezone
from editor_client.shared import canonical, ids

from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Revision
from capabilities.evaluation.datasets.verbs import find_dataset
from capabilities.evaluation.experiments import cells
from capabilities.evaluation.experiments.models import (
    MAX_CHOSEN_ID,
    Experiment,
    ExperimentScorer,
    TargetType,
    key_in,
)
from capabilities.evaluation.experiments.pinning import Target, pinned_scorers, pinned_target
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.verbs import Verbs

SETTINGS: Final = (
    "description",
    "metadata",
    "provenance",
    "runnerAttestation",
    "requestContext",
    "limits",
    "unmockedToolPolicy",
    "maxConcurrency",
)
"""The members that are kept as they were sent."""
PUBLISHED_BASELINE: Final = "published"
_TAKEN: Final = ("review-summary",)
"""What is no id of an experiment, because an address says something else by it."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """An experiment, and whether it is new."""

    experiment: Experiment
    is_new: bool = True


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked request for an experiment, of which nothing is stored yet."""

    dataset: Dataset
    version: DatasetVersion
    target: Target
    scorers: Sequence[ExperimentScorer]
    items: int
    baseline: Target | Experiment | None


@retry_on_conflict
def start(experiments: Verbs, dataset_id: str, given: Mapping[str, Any], *, by: Who = APPLICATION) -> Started:
    """Start an experiment over a dataset; with a `baseline` that is no experiment yet, that as well.

    `given` are the members of the request. Raises `NotFound`, `Forbidden` without the right to save,
    `Invalid`, and `Conflict` for an id that another experiment has.
    """
    caller = caller_of(by)
    try:
        return _started(experiments, dataset_id, given, caller)
    except IntegrityError:  # another request has taken the id meanwhile
        return _started(experiments, dataset_id, given, caller)


def _started(experiments: Verbs, dataset_id: str, given: Mapping[str, Any], caller: Caller) -> Started:
    known = known_by_id(dataset_id, given, caller)
    if known is not None:
        return Started(experiment=known, is_new=False)
    plan = planned(experiments, dataset_id, given, by=caller)
    with events.transaction():
        made = _stored(plan, given, caller)
        made.record("started", caller, datasetId=str(plan.dataset.pk), cells=made.cells_count)
    return Started(experiment=made)


def planned(experiments: Verbs, dataset_id: str, given: Mapping[str, Any], *, by: Who = APPLICATION) -> Plan:
    """Check a request for an experiment, and pin everything; raises as `start` does."""
    caller, editor = caller_of(by), experiments.editor
    dataset = find_dataset(dataset_id, by=caller, right=Right.SAVE)
    version = dataset_version(dataset, given.get("version"))
    items = Revision.objects.of_version(dataset, version.version).count()
    if not items:
        raise Invalid.field("datasetId", Message("has no items in this version"), code="no_items")
    target = pinned_target(editor, given, caller)
    if target.type == TargetType.NONE and given.get("start", True):
        message = Message("is required; without a target, send start: false and the results")
        raise Invalid.field("targetType", message)
    scorers = pinned_scorers(editor, given, dataset, target, caller)
    refuse_too_much(items, given.get("attempts", 1), len(scorers))
    baseline = _baseline(experiments, given, dataset, target, caller)
    return Plan(
        dataset=dataset, version=version, target=target, scorers=scorers, items=items, baseline=baseline
    )


def refuse_too_much(items: int, attempts: int, scorers: int) -> None:
    """Raise `Invalid` for more work than an experiment may be."""
    if items * attempts * (1 + scorers) > cells.MAX_WORK:
        message = Message(
            "is too much: items times attempts times (1 + scorers) is at most {limit}", limit=cells.MAX_WORK
        )
        raise Invalid.field("attempts", message, code="too_many_cells")


def dataset_version(dataset: Dataset, number: int | None) -> DatasetVersion:
    """Return a version of a dataset, by default the present one; raises `Invalid`."""
    wanted = dataset.version if number is None else number
    found = DatasetVersion.objects.filter(dataset=dataset, version=wanted).first()
    if found is None:
        message = Message("the dataset has no items yet") if number is None else Message("does not exist")
        raise Invalid.field("datasetId" if number is None else "version", message, code="no_items")
    return found


def known_by_id(dataset_id: str, given: Mapping[str, Any], by: Caller) -> Experiment | None:
    """Return the experiment that has the id of a request already, if it is the same.

    Ids are unique in a dataset, and among what the caller may read. Raises `Conflict` if it is another one's.
    """
    if "id" not in given:
        return None
    if given.get("start", True):
        raise Invalid.field("id", Message("can be chosen only with start: false"))
    problem = ids.problem(given["id"], _TAKEN)
    if problem is None and "/" in given["id"]:
        problem = Message("must not hold a slash")
    if problem is None and len(ids.encode(given["id"])) > MAX_CHOSEN_ID:
        problem = Message("must have 1 to {limit} bytes once percent-encoded", limit=MAX_CHOSEN_ID)
    if problem is not None:
        raise Invalid.field("id", problem)
    dataset = find_dataset(dataset_id, by=by, right=Right.SAVE)
    found = Experiment.objects.in_dataset(dataset.pk, given["id"]).first()
    if found is None and not Experiment.objects.readable_by(by).keys_of(given["id"]):
        return None  # what the caller may not read does not count
    same = (
        found is not None
        and Experiment.objects.readable_by(by).filter(pk=found.pk).exists()
        and found.target_type == given.get("targetType", "")
        and found.target_id == given.get("targetId", "")
    )
    if not same:
        raise Conflict(Message("There is another experiment with this id."), code="id_taken")
    return found


def _baseline(
    experiments: Verbs, given: Mapping[str, Any], dataset: Dataset, target: Target, by: Caller
) -> Target | Experiment | None:
    wanted = given.get("baseline")
    if wanted is None:
        return None
    found = Experiment.objects.readable_by(by).in_dataset(dataset.pk, wanted).first()
    if found is not None:
        return found
    if target.type == TargetType.NONE:
        raise Invalid.field("baseline", Message("must be an experiment of this dataset"))
    named = {name: given[name] for name in ("targetType", "targetId")}
    if wanted != PUBLISHED_BASELINE:
        named["selector"] = {"versionId": wanted}
    try:
        return pinned_target(experiments.editor, named, by)
    except NotFound:
        message = Message("must be 'published', a version of the target, or an experiment of this dataset")
        raise Invalid.field("baseline", message) from None


def _stored(plan: Plan, given: Mapping[str, Any], by: Caller) -> Experiment:
    """Store an experiment, its baseline if that is new, and their cells."""
    candidate = _row(plan, given, plan.target, by)
    candidate.pk = given.get("id") or str(uuid4())
    taken = Experiment.objects.filter(pk=candidate.pk).only("dataset").first()
    if taken is not None and taken.dataset_id == plan.dataset.pk:
        raise IntegrityError
    if taken is not None:
        candidate.pk = key_in(plan.dataset.pk, candidate.pk)
    candidate.queue_id = candidate.pk
    made = [candidate]
    if isinstance(plan.baseline, Experiment):
        candidate.pair_of = plan.baseline
    elif plan.baseline is not None:
        baseline = _row(plan, given, plan.baseline, by)
        baseline.pk, baseline.queue_id = str(uuid4()), candidate.pk
        baseline.save(force_insert=True)
        candidate.pair_of = baseline
        made.append(baseline)
    candidate.save(force_insert=True)
    for one in made:
        ExperimentScorer.objects.bulk_create(_copies(plan.scorers, one))
    cells.add_cells(made, range(candidate.attempts), now=candidate.created_at, is_due=candidate.is_started)
    return candidate


def _copies(scorers: Sequence[ExperimentScorer], experiment: Experiment) -> list[ExperimentScorer]:
    names = ("scorer_id", "version_id", "config_json", "instructions", "is_primary", "position")
    return [
        ExperimentScorer(experiment=experiment, **{name: getattr(scorer, name) for name in names})
        for scorer in scorers
    ]


def _row(plan: Plan, given: Mapping[str, Any], target: Target, by: Caller) -> Experiment:
    grouping, attempts = given.get("grouping", {}), given.get("attempts", 1)
    now = timezone.now()
    made = Experiment(
        workspace_id=plan.dataset.workspace_id,
        dataset=plan.dataset,
        dataset_version=plan.version.version,
        dataset_digest=plan.version.digest,
        is_started=given.get("start", True),
        attempts=attempts,
        name=given.get("name") or "",
        settings_json=canonical.dump({name: given[name] for name in SETTINGS if given.get(name) is not None}),
        experiment_set_id=grouping.get("experimentSetId", ""),
        comparison_id=grouping.get("comparisonId", ""),
        variant_id=grouping.get("variantId", ""),
        trial_index=grouping.get("trialIndex"),
        items_count=plan.items,
        cells_count=plan.items * attempts,
        author_id=by.user_id,
        author_name=by.username or "",
        key_prefix=by.key_prefix or "",
        created_at=now,
        updated_at=now,
        started_at=None if given.get("start", True) else now,
    )
    target.put_into(made)
    return made
