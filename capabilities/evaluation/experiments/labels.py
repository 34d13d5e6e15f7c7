"""Labels: what people say of results, and how far a scorer agrees with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from capabilities.evaluation.experiments.finding import found_in
from capabilities.evaluation.experiments.models import Cell, Experiment, Label, Score
from capabilities.evaluation.scoring.kind import SCORER
from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid, Message
from versioning.domain.uuids import is_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.verbs import Verbs


class Agreement(NamedTuple):
    """How far a scorer agrees with people, as shares of `n` labels; None where there are none."""

    n: int
    agree: float | None
    kappa: float | None
    """Cohen's: 1 for full agreement, 0 for what chance would give; None if people say one thing only."""
    majority: float | None
    """The share of the more frequent label, which saying always the same would reach."""


@retry_on_conflict
def add(given: Mapping[str, Any], *, dataset_id: str | None = None, by: Who = APPLICATION) -> Label:
    """Store what a person says of a result, in place of what the same person said under this name.

    Raises `NotFound`, `AmbiguousId` without a dataset, `Forbidden` without the right to save, and `Invalid`
    for an item without a result.
    """
    caller = caller_of(by)
    with events.transaction():
        rows = Experiment.objects.locked()
        experiment = found_in(rows, given["experimentId"], dataset_id, caller, Right.SAVE)
        about = {"experiment": experiment, "item_id": given["itemId"], "attempt": given.get("attempt", 0)}
        if not is_uuid(given["itemId"]) or not Cell.objects.over().filter(**about).exists():
            raise Invalid.field("itemId", Message("is no item of this experiment with a result"))
        values = {"value": given["value"], "comment": given.get("comment") or ""}
        mine = Label.objects.filter(**about, name=given["name"], author=caller.user_id)
        label = mine.first() or Label(**about, name=given["name"], author_id=caller.user_id)
        label.value, label.comment, label.updated_at = values["value"], values["comment"], timezone.now()
        label.save()
    return label


def list_readable(given: Mapping[str, Any], *, by: Who = APPLICATION) -> QuerySet[Label]:
    """Return the labels that the caller may read, of an experiment, of an item, or under a name."""
    readable = Experiment.objects.readable_by(caller_of(by))
    found = Label.objects.filter(experiment__in=readable.order_by().values("pk"))
    if "experimentId" in given:
        found = found.filter(experiment__in=readable.keys_of(given["experimentId"]))
    for member, column in (("itemId", "item_id"), ("name", "name")):
        if member in given:
            is_possible = member != "itemId" or is_uuid(given[member])
            found = found.filter(**{column: given[member]}) if is_possible else found.none()
    return found.select_related("author")


def agreement(experiments: Verbs, scorer_id: str, *, by: Who = APPLICATION) -> Agreement:
    """Return how far what a scorer says agrees with the labels under its id; raises `NotFound`."""
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
    return agreement_of(pairs)


def agreement_of(pairs: Mapping[tuple[bool, bool], int]) -> Agreement:
    """Return the agreement for how often people and the scorer said what. Pure."""
    n = sum(pairs.values())
    if not n:
        return Agreement(0, None, None, None)
    agree = sum(number for (person, scorer), number in pairs.items() if person is scorer) / n
    people = sum(number for (person, _), number in pairs.items() if person) / n
    scorer = sum(number for (_, passed), number in pairs.items() if passed) / n
    chance = people * scorer + (1 - people) * (1 - scorer)
    kappa = None if chance == 1 else (agree - chance) / (1 - chance)
    return Agreement(n, agree, kappa, max(people, 1 - people))
