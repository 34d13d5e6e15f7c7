"""From a table of examples to a gate: what comes next for a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from capabilities.evaluation.experiments.models import Experiment, Outcome
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.studio.base import DatasetPage
from versioning.domain.access import Right


@dataclass(frozen=True, kw_only=True)
class Step:
    """What comes next."""

    number: int
    title: str
    sentence: str
    address: str
    link: str


STEPS = 4


def next_step(page: DatasetPage) -> Step | None:
    """Return what comes next for people who may save, up to the gate; None once there is one."""
    dataset, held = page.dataset, page.dataset.settings.get("scorerIds")
    if not page.may(Right.SAVE):
        return None
    if not dataset.items_count:
        return Step(
            number=1,
            title=_("Questions with good answers"),
            sentence=_("Paste them from a spreadsheet, or type them into the table."),
            address=page.own_address("dataset_import"),
            link=_("Import or paste"),
        )
    if not held:
        return Step(
            number=2,
            title=_("Choose a scorer"),
            sentence=_("A scorer compares each answer with the good one, or lets a model judge it."),
            address=page.own_address("dataset_scorers"),
            link=_("Choose a scorer"),
        )
    newest = Experiments.list(dataset_id=page.dataset_id, by=page.caller).order_by("-created_at").first()
    if newest is None:
        return Step(
            number=3,
            title=_("Run a first experiment"),
            sentence=_("An experiment runs an agent on every item and counts the good answers."),
            address=page.own_address("start_experiment"),
            link=_("New experiment"),
        )
    return _gate(page, newest, held)


def _gate(page: DatasetPage, newest: Experiment, scorers: list[str]) -> Step | None:
    wants_gate = newest.outcome == Outcome.COMPLETE and page.may(Right.PUBLISH)
    if not wants_gate or Gate.objects.filter(dataset=page.dataset).exists():
        return None
    given = {"dataset": page.dataset_id, "agent": newest.target_id, "scorer": scorers}
    return Step(
        number=4,
        title=_("Add a gate"),
        sentence=_("A gate requires an experiment like this one before a version of the agent goes live."),
        address=f"{page.address('new_gate')}?{urlencode(given, doseq=True)}",
        link=_("New gate"),
    )
