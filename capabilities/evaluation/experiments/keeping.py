"""What experiments keep: pinned versions, and outputs that count as evidence; not what is purged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q, Value
from editor_client.shared import canonical
from editor_client.shared.tags import MEMBER as TAGS

from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.experiments.counting import count_change
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer, Score
from capabilities.evaluation.scoring.kind import SCORER
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import InUse, Message, NotFound
from versioning.domain.registering import require_callable
from versioning.domain.uuids import parse_uuid
from versioning.editor.pins import KeptVersions, in_use
from versioning.models import VersionedResource
from versioning.models.text_keys import contains

IN_LOCKS: Final = {AGENT.slug: "agents", PROMPT_BLOCK.slug: "promptBlocks"}
"""The members of a lock with the pins of a kind."""
Needed = Callable[[], Iterable[str]]
"""Returns the ids of experiments whose outputs are needed."""
_needed: Final[list[Needed]] = []


def register_needed(needed: Needed) -> None:
    """Keep the outputs of these experiments, however old they are."""
    require_callable(needed, by="capabilities.evaluation.experiments.keeping.register_needed()")
    _needed.append(needed)


Counting = Callable[[Experiment], Collection[str]]
"""Returns the ids of the scorers whose scores in an experiment decide about something."""
_counting: Final[list[Counting]] = []


def register_counting(counting: Counting) -> None:
    """Keep experiments whose results decide about something from being deleted.

    Nor are these scores dropped for those of a draft of the scorer.
    """
    require_callable(counting, by="capabilities.evaluation.experiments.keeping.register_counting()")
    _counting.append(counting)


def refuse_to_delete(experiment: Experiment) -> None:
    """Raise `InUse` if the results of an experiment decide about something, such as for a gate."""
    if any(counting(experiment) for counting in _counting):
        raise InUse(
            Message("A gate counts this experiment, or an older one in its place: it cannot be deleted."),
            dependents=[],
            hidden_count=0,
        )


def refuse_to_drop_scores(experiment: Experiment, scorer_ids: Collection[str]) -> None:
    """Raise `InUse` if what one of these scorers said of an experiment decides about something."""
    if any(set(scorer_ids) & set(counting(experiment)) for counting in _counting):
        raise InUse(
            Message("A gate counts these scores: only a published version of the scorer takes their place."),
            dependents=[],
            hidden_count=0,
        )


def needed_experiments() -> set[str]:
    """Return the ids of the experiments whose outputs are kept."""
    return {experiment_id for needed in _needed for experiment_id in needed()}


def _pinned_versions(resource: VersionedResource) -> Iterator[UUID]:
    """Yield the versions of a resource that experiments use which have not ended."""
    for version_id in _pinned_ids(resource.kind.slug, resource.pk):
        with suppress(NotFound):  # versions in Git have ids of another kind, and no rows
            yield parse_uuid(version_id)


def _pinned_ids(kind: str, resource_id: str) -> Iterator[str]:
    running = Experiment.objects.filter(outcome="")
    if kind == SCORER.slug:
        scorers = ExperimentScorer.objects.filter(experiment__in=running, scorer_id=resource_id)
        yield from scorers.values_list("version_id", flat=True)
        targets = running.filter(target_type="scorer", target_id=resource_id)
        yield from targets.values_list("version_id", flat=True)
    elif kind in IN_LOCKS:
        for one in running.filter(contains(F("lock_json"), Value(f"{canonical.dump(resource_id)}:"))):
            pin = (one.lock or {}).get(IN_LOCKS[kind], {}).get(resource_id)
            if pin is not None and pin["versionId"] is not None:
                yield pin["versionId"]


def remove_answers(dataset_id: UUID, item_id: UUID) -> None:
    """Remove what was said of an item from the results of all experiments, for good.

    What decides stays with the results: the scores, and the tags that the item had when it was run.
    """
    cells = Cell.objects.filter(item_id=item_id, experiment__dataset=dataset_id)
    for revision in Revision.objects.filter(dataset=dataset_id, item=item_id):
        tags = item_tags(revision.payload)
        if tags and not revision.is_purged:
            cells.filter(revision=revision).update(item_tags="".join(f"\n{tag}\n" for tag in tags))
    Score.objects.filter(cell__in=cells).update(reason="", more_json="", label="")
    cells.update(output_json="", detail_json="", error_message="", review_comment="")
    count_change(Q(dataset=dataset_id))


def item_tags(payload: Mapping[str, Any]) -> list[str]:
    """Return the tags of an item."""
    found = (payload.get("metadata") or {}).get(TAGS)
    return [str(tag) for tag in found] if isinstance(found, list) else []


PINNED_VERSIONS: Final = KeptVersions(
    pinned=_pinned_versions,
    refusal=in_use(Message("is used by an experiment that has not ended: cancel that first")),
)
