"""Scores: those of experiments, and those that applications send of their own runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone
from editor_client.shared import canonical

from capabilities.evaluation.experiments.counting import Before, count
from capabilities.evaluation.experiments.finding import only_key
from capabilities.evaluation.experiments.models import Cell, Experiment, Score
from capabilities.evaluation.experiments.recording import put_scores
from capabilities.evaluation.experiments.scoring_cells import EXTERNAL
from capabilities.evaluation.experiments.submitting import outcome_of
from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid, Message, NotFound
from versioning.domain.uuids import is_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import events
from versioning.models.querysets import covered_by, within

AGENT_ENTITY: Final = "AGENT"
COLUMNS: Final = {
    "scorerId": "scorer_id",
    "runId": "run_id",
    "entityId": "entity_id",
    "entityType": "entity_type",
    "source": "source",
    "score": "value",
    "reason": "reason",
}
"""The members of a score that have columns."""


def readable(by: Who = APPLICATION) -> QuerySet[Score]:
    """Return the scores of the workspaces whose drafts the caller may read.

    For a key that is limited to some ids, those of scorers, agents and experiments outside are missing.
    """
    caller = caller_of(by)
    found = Score.objects.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
    if not caller.id_prefix:
        return found
    missing = Experiment.objects.exclude(pk__in=Experiment.objects.readable_by(caller).values("pk"))
    other_agents = Q(entity_type=AGENT_ENTITY) & ~covered_by(caller, "entity_id")
    return found.filter(covered_by(caller, "scorer_id")).exclude(
        Q(run_id__in=missing.values("pk")) | other_agents
    )


@retry_on_conflict
def add(given: Mapping[str, Any], *, workspace: str | None = None, by: Who = APPLICATION) -> Score:
    """Store a score that an application sends.

    If `runId` is an experiment, `entityId` is one of its items: the score takes the place of what the same
    scorer said of the attempt (`metadata.attempt`, else the first). Where the experiment has a target, only
    scorers that nothing runs here can say something. Raises `Invalid`, `Forbidden`, and `NotFound` for an
    experiment that is missing for the caller's key.
    """
    caller = caller_of(by)
    caller.require_covered(given["scorerId"])
    if given.get("entityType") == AGENT_ENTITY:
        caller.require_covered(given["entityId"])
    with events.transaction():
        experiments = Experiment.objects.readable_by(replace(caller, id_prefix=""))
        key = only_key(given["runId"], replace(caller, id_prefix=""))
        experiment = experiments.locked().filter(pk=key).first()
        if experiment is not None:
            if not Experiment.objects.readable_by(caller).filter(pk=experiment.pk).exists():
                raise NotFound
            caller.require(Right.SAVE, experiment.workspace_id)
            return _of_experiment(experiment, given)
        workspace_id = workspace_for(caller, workspace)
        return Score.objects.create(
            workspace_id=workspace_id,
            updated_at=timezone.now(),
            more_json=canonical.dump({name: value for name, value in given.items() if name not in COLUMNS}),
            **{column: given[name] for name, column in COLUMNS.items() if given.get(name) is not None},
        )


def _of_experiment(experiment: Experiment, given: Mapping[str, Any]) -> Score:
    attempt = (given.get("metadata") or {}).get("attempt", 0)
    cell = None
    if is_uuid(given["entityId"]) and isinstance(attempt, int):
        rows = Cell.objects.over().filter(experiment=experiment, item_id=given["entityId"], attempt=attempt)
        cell = rows.first()
    if cell is None:
        raise Invalid.field("entityId", Message("is no item of this experiment with a result"))
    scorer = experiment.scorers.filter(scorer_id=given["scorerId"]).first()
    if experiment.target_type and scorer is not None and scorer.config["type"] != EXTERNAL:
        raise Invalid.field("scorerId", Message("scores this experiment here: its scores are not sent"))
    before = Before.of(cell)
    more = {name: value for name, value in given.items() if name not in COLUMNS}
    said = outcome_of(scorer, given["score"], given.get("reason"))
    version_id = scorer.version_id if scorer else ""
    put_scores(experiment, cell, [(given["scorerId"], version_id, said, more)])
    count(experiment, cell, before, spent={})
    return Score.objects.get(cell=cell, scorer_id=given["scorerId"])


def of_run(run_id: str, *, by: Who = APPLICATION) -> QuerySet[Score]:
    """Return the scores of a run or of an experiment."""
    keys = Experiment.objects.readable_by(caller_of(by)).keys_of(run_id)
    return readable(by).filter(run_id__in={run_id, *keys})


def of_scorer(scorer_id: str, given: Mapping[str, Any], *, by: Who = APPLICATION) -> QuerySet[Score]:
    """Return the scores of a scorer, of one entity or of all."""
    columns = {COLUMNS[name]: given[name] for name in ("entityId", "entityType") if name in given}
    return readable(by).filter(scorer_id=scorer_id, **columns)


def of_entity(entity_type: str, entity_id: str, *, by: Who = APPLICATION) -> QuerySet[Score]:
    """Return the scores of an agent or of anything else that was scored."""
    return readable(by).filter(entity_type=entity_type, entity_id=entity_id)
