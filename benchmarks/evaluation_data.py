"""The data for measuring evaluation: a dataset of 10 000 items, and experiments of 50 000 cells over it."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from editor_client.shared import canonical

from benchmarks.studio_data import insert, prose
from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Item, Revision, searchable_values
from capabilities.evaluation.datasets.verbs import EMPTY
from capabilities.evaluation.experiments.models import (
    Cell,
    CellState,
    Experiment,
    ExperimentOutcome,
    ExperimentScorer,
    Score,
    summarize_scorers,
)
from capabilities.evaluation.experiments.results import ITEM, TEST, recount, stored_json

NAME = "Ten thousand questions"
ITEMS, ATTEMPTS, REVISIONS = 10_000, 5, 1_000
"""Items, attempts at each, and the revisions of one item, each of which is a version of the dataset."""
CHANGED_ITEM = UUID(int=1)
_CONFIG = {"name": "Exact", "type": "equals", "config": {}}
_OTHERS = 200
"""Further experiments, of which only the rows count."""


class Filled(NamedTuple):
    """What there is."""

    dataset: Dataset
    here: Experiment
    baseline: Experiment
    running: Experiment


def fill() -> None:
    """Create everything, unless it exists already."""
    if Dataset.objects.filter(name=NAME).exists():
        return
    with transaction.atomic():
        dataset = _dataset()
        baseline = _experiment(dataset, "before")
        _cells(baseline, share=0.80, until=1.0)
        here = _experiment(dataset, "after", pair_of=baseline)
        _cells(here, share=0.83, until=1.0)
        _cells(_experiment(dataset, "running"), share=0.8, until=0.5)
        for number in range(_OTHERS):
            _row(dataset, f"other-{number}", outcome=ExperimentOutcome.COMPLETE, summary_json="[]").save()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def found() -> Filled:
    """Return what was filled."""
    dataset = Dataset.objects.get(name=NAME)
    rows = Experiment.objects.in_bulk(["after", "before", "running"])
    return Filled(dataset, rows["after"], rows["before"], rows["running"])


def _dataset() -> Dataset:
    author = User.objects.get(username="paula")
    dataset = Dataset(
        workspace_id="acme", name=NAME, author=author, version=REVISIONS, digest=EMPTY, items_count=ITEMS
    )
    dataset.save()
    insert(
        DatasetVersion(dataset=dataset, version=number, digest=EMPTY) for number in range(1, REVISIONS + 1)
    )
    items = [
        Item(
            pk=UUID(int=number),
            dataset=dataset,
            external_id=f"question-{number}",
            created_at=timezone.now() + datetime.timedelta(milliseconds=number),
        )
        for number in range(1, ITEMS + 1)
    ]
    insert(items)
    insert(
        Revision(
            item=item,
            dataset=dataset,
            version=1,
            payload_json=_payload(item),
            search_text=searchable_values(json.loads(_payload(item))),
            digest=EMPTY,
        )
        for item in items[1:]
    )
    insert(
        Revision(
            item=items[0],
            dataset=dataset,
            version=number,
            until=None if number == REVISIONS else number + 1,
            payload_json=_payload(items[0], f" In version {number}."),
            digest=EMPTY,
        )
        for number in range(1, REVISIONS + 1)
    )
    return dataset


def _payload(item: Item, more: str = "") -> str:
    return canonical.dump(
        {
            "input": {"question": prose(item.pk.int, 60) + more, "language": "English"},
            "groundTruth": prose(item.pk.int + 1, 20),
            "metadata": {"tags": ["customer" if item.pk.int % 3 else "legal"]},
        }
    )


def _row(dataset: Dataset, name: str, **more: object) -> Experiment:
    now = timezone.now()
    values = {
        "dataset_version": dataset.version,
        "dataset_digest": EMPTY,
        "target_type": "agent",
        "target_id": "agent-1",
        "queue_id": name,
        "name": name,
        "author_name": "paula",
        "started_at": now,
        **more,
    }
    return Experiment(pk=name, workspace_id=dataset.workspace_id, dataset=dataset, **values)


def _experiment(dataset: Dataset, name: str, *, pair_of: Experiment | None = None) -> Experiment:
    made = _row(dataset, name, attempts=ATTEMPTS, items_count=ITEMS, pair_of=pair_of)
    made.save(force_insert=True)
    ExperimentScorer.objects.create(
        experiment=made,
        scorer_id="exact",
        version_id="1",
        config_json=canonical.dump(_CONFIG),
        is_primary=True,
    )
    return made


def _cells(experiment: Experiment, *, share: float, until: float) -> None:
    """Make the cells; the share of the answers that pass, and of the cells that are done."""
    chance = random.Random(experiment.pk)
    revisions = Revision.objects.of_version(experiment.dataset, experiment.dataset_version)  # type: ignore[arg-type]
    items = list(revisions.values_list("item_id", "pk"))
    for attempt in range(ATTEMPTS):
        chance.shuffle(items)
        done = [attempt * ITEMS + place < until * ITEMS * ATTEMPTS for place in range(ITEMS)]
        insert(
            _cell(experiment, attempt, *one, is_done=is_done)
            for one, is_done in zip(items, done, strict=True)
        )
    rows = Cell.objects.filter(experiment=experiment, state=CellState.DONE)
    insert(_scores(experiment, rows.values_list("pk", "item_id"), chance, share))
    recount(experiment)
    if until == 1:
        experiment.outcome, experiment.ended_at = ExperimentOutcome.COMPLETE, timezone.now()
        experiment.summary_json = canonical.dump(summarize_scorers(experiment))
    experiment.save()


def _cell(experiment: Experiment, attempt: int, item_id: UUID, revision_id: int, *, is_done: bool) -> Cell:
    made = Cell(experiment=experiment, attempt=attempt, item_id=item_id, revision_id=revision_id)
    if not is_done:
        return made
    made.state, made.started_at, made.ended_at = CellState.DONE, timezone.now(), timezone.now()
    made.output_json, made.output_digest, made.is_cut = stored_json(prose(item_id.int + attempt, 80))
    made.detail_json = canonical.dump({"models": ["provider/model-1"]})
    made.input_tokens, made.output_tokens, made.milliseconds = 400, 120, 900
    return made


def _scores(
    experiment: Experiment, rows: Iterator[tuple[int, UUID]], chance: random.Random, share: float
) -> Iterator[Score]:
    for cell_id, item_id in rows:
        passed = chance.random() < share
        yield Score(
            workspace_id=experiment.workspace_id,
            cell_id=cell_id,
            run_id=experiment.pk,
            scorer_id="exact",
            version_id="1",
            entity_type=ITEM,
            entity_id=str(item_id),
            source=TEST,
            value=float(passed),
            passed=passed,
            reason="" if passed else "The answer differs from what is expected.",
        )
