"""Record what came of a cell: the row with its scores; and end an experiment."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from django.utils import timezone
from editor_client.shared import canonical

from capabilities.evaluation.experiments.mocks import DENY
from capabilities.evaluation.experiments.models import Cell, Experiment, Score
from capabilities.evaluation.experiments.summing import summed_up
from capabilities.evaluation.scoring.outcomes import MISSING, Outcome, Problem
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.texts import boundary_before, clip, storable_json, storable_text

MAX_STORED_OUTPUT: Final = 32 * 1024
"""How many bytes of an output are kept."""
MAX_MESSAGE: Final = 2_000
TEST: Final = "TEST"
ITEM: Final = "DATASET_ITEM"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a target answered to an item, or how it failed."""

    output: Any = MISSING
    error: Problem | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    """As `Cell.detail_json` has it."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    """In US dollars; None where a price is unknown."""
    milliseconds: int = 0
    context_digest: str = ""
    """As `Cell.context_digest` has it."""
    tool_policy: str = DENY
    run_id: str = ""
    started_at: datetime.datetime = field(default_factory=timezone.now)
    ended_at: datetime.datetime | None = None
    is_stored: bool = False
    """Whether it was given earlier, so that what it used is counted already."""


def put_answer(cell: Cell, answer: Answer, *, whole: bool = False) -> None:
    """Set the columns of a cell to an answer; of a long output only the beginning is kept, unless `whole`."""
    cell.output_json, cell.output_digest, cell.is_cut = json_of(answer.output)
    if whole and cell.is_cut:
        cell.output_json, cell.is_cut = canonical.dump(storable_json(answer.output)), False
    cell.error_code = answer.error.code if answer.error else ""
    cell.error_message = storable_text(clip(answer.error.message, MAX_MESSAGE)) if answer.error else ""
    cell.detail_json = canonical.dump(storable_json(answer.detail)) if answer.detail else ""
    cell.__dict__.pop("detail", None)
    cell.input_tokens, cell.output_tokens = answer.input_tokens, answer.output_tokens
    cell.milliseconds, cell.run_id = answer.milliseconds, answer.run_id
    cell.context_digest, cell.tool_policy = answer.context_digest, answer.tool_policy
    cell.started_at, cell.ended_at = answer.started_at, answer.ended_at or timezone.now()


def json_of(output: Any) -> tuple[str, str, bool]:
    """Return the JSON that is stored of an output, the digest of the whole, and whether it was cut."""
    if output is MISSING:
        return "", "", False
    output = storable_json(output)
    text = canonical.dump(output)
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    if len(data) <= MAX_STORED_OUTPUT:
        return text, digest, False
    whole = output if isinstance(output, str) else text
    return canonical.dump(_beginning_of(whole)), digest, True


RESULT: Final = (
    *("state", "tries", "started_at", "ended_at", "output_json", "output_digest", "is_cut"),
    *("error_code", "error_message", "detail_json", "input_tokens", "output_tokens", "milliseconds"),
    *("context_digest", "tool_policy", "run_id"),
)
"""The columns of a result."""


def result_of(cell: Cell) -> dict[str, Any]:
    """Return the columns of a result, by name; of a new cell those without one."""
    return {name: getattr(cell, name) for name in RESULT}


def put_scores(
    experiment: Experiment, cell: Cell, scores: Iterable[tuple[str, str, Outcome, Mapping[str, Any]]]
) -> None:
    """Store what scorers say of a cell, in place of what the same scorers said before.

    Each is the scorer's id, its version, the outcome and further members.
    """
    rows = [
        Score(
            workspace_id=experiment.workspace_id,
            cell=cell,
            run_id=experiment.pk,
            scorer_id=scorer_id,
            version_id=version_id,
            entity_type=ITEM,
            entity_id=str(cell.item_id),
            source=TEST,
            more_json=canonical.dump(storable_json(more)) if more else "",
            **columns_of(outcome),
        )
        for scorer_id, version_id, outcome, more in scores
    ]
    Score.objects.filter(cell=cell, scorer_id__in=[row.scorer_id for row in rows]).delete()
    Score.objects.bulk_create(rows)


def columns_of(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of a score."""
    return {
        "value": outcome.score,
        "passed": outcome.passed,
        "label": clip(storable_text(outcome.label or ""), 200),
        "reason": storable_text(outcome.reason or ""),
        "error_code": outcome.error.code if outcome.error else "",
        "error_message": storable_text(clip(outcome.error.message, MAX_MESSAGE)) if outcome.error else "",
        "not_scorable": outcome.not_scorable.reason if outcome.not_scorable else "",
    }


def finish(experiment: Experiment, outcome: str, *, by: Caller = APPLICATION) -> None:
    """End a locked experiment, sum it up and record it."""
    experiment.outcome, experiment.ended_at = outcome, timezone.now()
    experiment.updated_at = experiment.ended_at
    experiment.summary_json = canonical.dump(summed_up(experiment))
    experiment.save(update_fields=["outcome", "ended_at", "updated_at", "summary_json"])
    candidate = experiment.candidates.first()
    pair = {} if candidate is None else {"baselineOf": candidate.public_id}
    experiment.record("finished", by, outcome=outcome, createdBy=experiment.author_name, **pair)


def _beginning_of(text: str) -> str:
    """Return as much of a text as may be stored, cut between characters."""
    kept = text.encode()[:MAX_STORED_OUTPUT].decode(errors="ignore")
    return text[: boundary_before(text, len(kept))]
