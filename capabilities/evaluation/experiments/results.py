"""The results of an experiment: scored, counted, stored, kept and exported."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID
from xml.etree import ElementTree

from django.db.models import Count, F, Q, Value
from django.db.models.functions import Now
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.tags import MEMBER as TAGS

from capabilities.evaluation.datasets.formats import format_cell
from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.experiments.models import (
    DENY,
    ENDED,
    Cell,
    CellQuerySet,
    CellState,
    Experiment,
    ExperimentScorer,
    Score,
    summarize_scorers,
)
from capabilities.evaluation.experiments.schemas import ResultAnswer
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.scoring import MISSING, Attempt, Problem, ScoreOutcome, Unscored, score
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.csv_files import lines
from versioning.domain.errors import InUse, Message, NotFound
from versioning.domain.registering import require_callable
from versioning.domain.texts import boundary_before, clip, storable_json, storable_text
from versioning.domain.uuids import parse_uuid
from versioning.editor.pins import KeptVersions, in_use
from versioning.models import VersionedResource
from versioning.models.storage import give_back
from versioning.models.text_keys import contains
from versioning.runtime.observing import price_list_date

_COUNTED: Final = {
    CellState.DONE: "done_count",
    CellState.ERROR: "error_count",
    CellState.SKIPPED: "skipped_count",
}


Counted = tuple[str, bool]
"""The counts of a cell: its state, and whether a scorer failed on its output."""


def counted_as(cell: Cell) -> Counted:
    """Return the current counts of a cell."""
    return cell.state, cell.state == CellState.DONE and cell.scores.exclude(error_code="").exists()


def count(experiment: Experiment, cell: Cell, before: Counted, *, spent: Mapping[str, int]) -> None:
    """Update the counts of a locked experiment for a cell."""
    changes = Counter(spent)
    for (state, is_unscored), sign in ((before, -1), (counted_as(cell), 1)):
        if state in _COUNTED:
            changes[_COUNTED[CellState(state)]] += sign
        changes["unscored_count"] += sign * is_unscored
    changes["changes_count"] = 1
    changes = Counter({name: value for name, value in changes.items() if value})
    for name, value in changes.items():
        setattr(experiment, name, getattr(experiment, name) + value)
    experiment.summary_json = ""
    values: dict[str, Any] = {name: F(name) + value for name, value in changes.items()}
    if spent:
        values["prices_of"] = experiment.prices_of = price_list_date()
    Experiment.objects.filter(pk=experiment.pk).update(**values, summary_json="")


def count_change(condition: Q) -> None:
    """Record a change in the results of experiments that does not affect the counts."""
    Experiment.objects.filter(condition).update(changes_count=F("changes_count") + 1)


def recount(experiment: Experiment) -> None:
    """Count the cells again; the row has to be locked, and is not saved."""
    rows = Cell.objects.filter(experiment=experiment).order_by()
    states = dict(rows.values_list("state").annotate(number=Count("pk")))
    experiment.cells_count = sum(states.values())
    experiment.done_count = states.get(CellState.DONE, 0)
    experiment.error_count = states.get(CellState.ERROR, 0)
    experiment.skipped_count = states.get(CellState.SKIPPED, 0)
    failed = Score.objects.filter(run_id=experiment.pk).exclude(error_code="").values("cell")
    experiment.unscored_count = rows.filter(state=CellState.DONE, pk__in=failed).count()
    experiment.changes_count += 1
    experiment.summary_json = ""


JUDGE: Final = "llm-judge"
EXTERNAL: Final = "external"
NewScore = tuple[str, str, ScoreOutcome, Mapping[str, Any]]
"""A scorer's id, its version, its outcome, and further members of the score."""


def attempt_at(cell: Cell, output: Any) -> Attempt:
    """Return the attempt to score: the item with its output."""
    truth = cell.member("groundTruth")
    has_tokens = cell.input_tokens or cell.output_tokens
    return Attempt(
        input=cell.member("input"),
        output=output,
        ground_truth=MISSING if truth is None else truth,
        metadata=cell.member("metadata") or {},
        tool_calls=cell.detail.get("toolCalls"),
        tokens=cell.input_tokens + cell.output_tokens if has_tokens else None,
        milliseconds=cell.milliseconds,
    )


def score_cell(
    cell: Cell, output: Any, scorers: Iterable[ExperimentScorer], *, asks_models: bool = True
) -> Iterator[NewScore]:
    """Yield the outcome of each scorer for the output of a cell, without external scorers.

    If an item names scorers (`scorerIds`), others do not apply. Without `asks_models` judges are skipped.
    """
    attempt, functions = attempt_at(cell, output), get_framework().scorers
    for scorer in scorers:
        kind = scorer.config["type"]
        if kind == EXTERNAL or (kind == JUDGE and not asks_models):
            continue
        if names_others(cell, scorer):
            outcome = ScoreOutcome(not_scorable=Unscored("The item names other scorers."))
        else:
            outcome = score(scorer.config, attempt, functions, scorer.instructions)
        yield scorer.scorer_id, scorer.version_id, outcome, {}


def names_others(cell: Cell, scorer: ExperimentScorer) -> bool:
    """Return whether the item names scorers, and this is none of them."""
    scorer_ids = cell.member("scorerIds")
    return scorer_ids is not None and scorer.scorer_id not in scorer_ids


def refuse_cut_output(scorers: Iterable[ExperimentScorer]) -> Iterator[NewScore]:
    """Yield the error that a truncated output cannot be scored again."""
    problem = Problem("output_cut", "Only the beginning of the output is stored; run the item again.")
    for scorer in scorers:
        if scorer.config["type"] != EXTERNAL:
            yield scorer.scorer_id, scorer.version_id, ScoreOutcome(error=problem), {}


MAX_STORED_OUTPUT: Final = 32 * 1024
"""The number of bytes of an output that are stored."""
MAX_MESSAGE: Final = 2_000
TEST: Final = "TEST"
ITEM: Final = "DATASET_ITEM"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a target to an item, or its failure."""

    output: Any = MISSING
    error: Problem | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    """The data of `Cell.detail_json`."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    """In US dollars; None if a price is unknown."""
    milliseconds: int = 0
    context_digest: str = ""
    """The digest in `Cell.context_digest`."""
    tool_policy: str = DENY
    run_id: str = ""
    started_at: datetime.datetime = field(default_factory=timezone.now)
    ended_at: datetime.datetime | None = None
    is_stored: bool = False
    """Whether it is an earlier answer, whose usage is already counted."""


def put_answer(cell: Cell, answer: Answer, *, whole: bool = False) -> None:
    """Set the columns of a cell to an answer; a long output is truncated unless `whole`."""
    cell.output_json, cell.output_digest, cell.is_cut = stored_json(answer.output)
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


def stored_json(output: Any) -> tuple[str, str, bool]:
    """Return the JSON to store for an output, the digest of the whole, and whether it was truncated."""
    if output is MISSING:
        return "", "", False
    output = storable_json(output)
    text = canonical.dump(output)
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    if len(data) <= MAX_STORED_OUTPUT:
        return text, digest, False
    whole = output if isinstance(output, str) else text
    beginning = whole.encode()[:MAX_STORED_OUTPUT].decode(errors="ignore")
    return canonical.dump(whole[: boundary_before(whole, len(beginning))]), digest, True


RESULT: Final = (
    *("state", "tries", "started_at", "ended_at", "output_json", "output_digest", "is_cut"),
    *("error_code", "error_message", "detail_json", "input_tokens", "output_tokens", "milliseconds"),
    *("context_digest", "tool_policy", "run_id"),
)
"""The columns of a result."""


def result_columns(cell: Cell) -> dict[str, Any]:
    """Return the columns of a result by name; for a new cell those without a result."""
    return {name: getattr(cell, name) for name in RESULT}


def put_scores(
    experiment: Experiment, cell: Cell, scores: Iterable[tuple[str, str, ScoreOutcome, Mapping[str, Any]]]
) -> None:
    """Store the outcomes of scorers for a cell, replacing earlier ones of the same scorers.

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
            **score_columns(outcome),
        )
        for scorer_id, version_id, outcome, more in scores
    ]
    Score.objects.filter(cell=cell, scorer_id__in=[row.scorer_id for row in rows]).delete()
    Score.objects.bulk_create(rows)


def score_columns(outcome: ScoreOutcome) -> dict[str, Any]:
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
    experiment.summary_json = canonical.dump(summarize_scorers(experiment))
    experiment.save(update_fields=["outcome", "ended_at", "updated_at", "summary_json"])
    candidate = experiment.candidates.first()
    pair = {} if candidate is None else {"baselineOf": candidate.public_id}
    experiment.record("finished", by, outcome=outcome, createdBy=experiment.author_name, **pair)


def stop(experiment: Experiment, outcome: str, by: Caller, *, waits: bool = False) -> None:
    """Skip the queued cells of a locked experiment, and end it once nothing runs.

    Cells with an output are done and not scored any more. With `waits` cells run by a worker may finish;
    otherwise the worker loses its lease.
    """
    queued = Cell.objects.filter(experiment=experiment, state=CellState.QUEUED)
    if waits:
        queued = queued.exclude(leased_until__gt=Now())
    experiment.stopped = outcome
    experiment.done_count += queued.exclude(output_json="").update(state=CellState.DONE, **ENDED)
    experiment.skipped_count += queued.update(state=CellState.SKIPPED, **ENDED)
    experiment.changes_count += 1
    experiment.save(update_fields=["stopped", "done_count", "skipped_count", "changes_count"])
    if not experiment.queued_count:
        finish(experiment, outcome, by=by)


IN_LOCKS: Final = {AGENT.slug: "agents", PROMPT_BLOCK.slug: "promptBlocks"}
"""The members of a lock with the pins of a kind."""
Needed = Callable[[], Iterable[str]]
"""Returns the ids of experiments whose outputs are needed."""
_needed: Final[list[Needed]] = []


def register_needed(needed: Needed) -> None:
    """Protect the outputs of these experiments from expiry."""
    require_callable(needed, by="capabilities.evaluation.experiments.results.register_needed()")
    _needed.append(needed)


Counting = Callable[[Experiment], Collection[str]]
"""Returns the ids of the scorers whose scores in an experiment are evidence."""
_counting: Final[list[Counting]] = []


def register_counting(counting: Counting) -> None:
    """Protect experiments whose results are evidence from deletion.

    Their scores are also not replaced by those of a draft of the scorer.
    """
    require_callable(counting, by="capabilities.evaluation.experiments.results.register_counting()")
    _counting.append(counting)


def refuse_if_counted(
    experiment: Experiment, message: Message, scorer_ids: Collection[str] | None = None
) -> None:
    """Raise `InUse` if results of an experiment, or scores of one of these scorers, are evidence."""
    for counting in _counting:
        counted_ids = set(counting(experiment))
        if counted_ids if scorer_ids is None else counted_ids & set(scorer_ids):
            raise InUse(message, dependents=[], hidden_count=0)


def needed_experiments() -> set[str]:
    """Return the ids of the experiments whose outputs are kept."""
    return {experiment_id for needed in _needed for experiment_id in needed()}


def _pinned_versions(resource: VersionedResource) -> Iterator[UUID]:
    """Yield the versions of a resource that unfinished experiments use."""
    running = Experiment.objects.filter(outcome="")
    kind, resource_id = resource.kind.slug, resource.pk
    ids: list[str] = []
    if kind == SCORER.slug:
        scorers = ExperimentScorer.objects.filter(experiment__in=running, scorer_id=resource_id)
        targets = running.filter(target_type="scorer", target_id=resource_id)
        for rows in (scorers, targets):
            ids += rows.values_list("version_id", flat=True)
    elif kind in IN_LOCKS:
        for experiment in running.filter(contains(F("lock_json"), Value(f"{canonical.dump(resource_id)}:"))):
            pin = (experiment.lock or {}).get(IN_LOCKS[kind], {}).get(resource_id)
            if pin is not None and pin["versionId"] is not None:
                ids.append(pin["versionId"])
    for version_id in ids:
        with suppress(NotFound):  # versions in Git have ids of another kind, and no rows
            yield parse_uuid(version_id)


def remove_answers(dataset_id: UUID, item_id: UUID) -> None:
    """Remove the texts about an item from the results of all experiments permanently.

    The evidence stays with the results: the scores, and the item's tags at the time of the run.
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
    tags = (payload.get("metadata") or {}).get(TAGS)
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


PINNED_VERSIONS: Final = KeptVersions(
    pinned=_pinned_versions,
    refusal=in_use(Message("is used by an experiment that has not ended: cancel that first")),
)


_AT_ONCE: Final = 100
"""The number of results in memory at a time."""
_COLUMNS: Final = (
    *("id", "itemId", "attempt", "input", "output", "groundTruth", "metadata", "error"),
    *("inputTokens", "outputTokens", "milliseconds", "startedAt", "completedAt"),
)
_OF_SCORER: Final = ("score", "passed", "label", "reason")
_OF_CASE: Final = ("item_id", "attempt", "state", "milliseconds", "error_code", "error_message")
_OF_VERDICT: Final = ("scorer_id", "error_code", "error_message", "passed", "reason", "not_scorable")
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Result = Mapping[str, Any]
T = TypeVar("T")


class ResultFormat(NamedTuple):
    """A format of files with results."""

    media_type: str
    suffix: str
    write: Callable[[Experiment], Iterator[str]]


def _batches(rows: CellQuerySet) -> Iterator[list[int]]:
    """Yield the keys of a few cells at a time, in the order in which they ran."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _require_all(keys: Sequence[int], read: Sequence[T]) -> Sequence[T]:
    """Return the rows that were read; raises `NotFound` if a cell was deleted."""
    give_back()  # while the reader takes them
    if len(read) < len(keys):
        raise NotFound
    return read


def _dump_results(experiment: Experiment) -> Iterator[Result]:
    for batch in _batches(Cell.objects.over().filter(experiment=experiment)):
        rows = Cell.objects.filter(pk__in=batch).with_revisions().prefetch_related("scores")
        yield from map(ResultAnswer.dump, _require_all(batch, list(rows.order_by("pk"))))


def _write_csv(experiment: Experiment) -> Iterator[str]:
    """Yield a row for each result, with columns for each scorer."""
    pinned = list(experiment.scorers.values_list("scorer_id", flat=True))
    own_scores = Score.objects.filter(cell__experiment=experiment).order_by()
    other_ids = own_scores.exclude(scorer_id__in=pinned).values_list("scorer_id", flat=True).distinct()
    scorers = [*pinned, *sorted(other_ids)]
    header = [*_COLUMNS, *(f"{member}.{scorer}" for scorer in scorers for member in _OF_SCORER)]

    def cells(result: Result) -> Iterator[str]:
        scores = {score["scorerId"]: score for score in result["scores"]}
        values = [result[name] for name in _COLUMNS]
        values += [scores.get(scorer, {}).get(member) for scorer in scorers for member in _OF_SCORER]
        return ("" if value is None else format_cell(value) for value in values)

    yield from lines(header, map(cells, _dump_results(experiment)))


def _write_junit(experiment: Experiment) -> Iterator[str]:
    """Yield a test case for each attempt of an item, read twice, because the counts come first.

    It fails by the primary scorer, or without one by any scorer. A skipped or unscorable item is skipped, and
    a failed scorer is an error.
    """
    primary = experiment.scorers.filter(is_primary=True).values_list("scorer_id", flat=True).first()
    kinds = Counter(_verdict(cell, scores)[0] for cell, scores in _iter_verdicts(experiment, primary))
    suite = ElementTree.Element(
        "testsuite",
        name=_plain(experiment.name or experiment.pk),
        tests=str(kinds.total()),
        failures=str(kinds["failure"]),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
    )
    opening = ElementTree.tostring(suite, encoding="unicode", short_empty_elements=False)
    yield '<?xml version="1.0" encoding="utf-8"?>\n' + opening.removesuffix("</testsuite>") + "\n"
    for cell, scores in _iter_verdicts(experiment, primary):
        kind, message = _verdict(cell, scores)
        name, time = f"{cell.item_id} attempt {cell.attempt + 1}", f"{cell.milliseconds / 1000:.3f}"
        case = ElementTree.Element("testcase", name=name, time=time)
        if kind:
            ElementTree.SubElement(case, kind, message=_plain(message))
        yield ElementTree.tostring(case, encoding="unicode") + "\n"
    yield "</testsuite>\n"


def _iter_verdicts(experiment: Experiment, primary: str | None) -> Iterator[tuple[Any, Sequence[Any]]]:
    """Yield the columns that determine the verdict of each finished cell, and those of its scores."""
    score_rows = Score.objects.all() if primary is None else Score.objects.filter(scorer_id=primary)
    for batch in _batches(Cell.objects.filter(experiment=experiment).exclude(state=CellState.QUEUED)):
        scores: dict[int, list[Any]] = {}
        rows = score_rows.filter(cell__in=batch).order_by("-created_at", "pk")
        for verdict in rows.values_list("cell_id", *_OF_VERDICT, named=True):
            scores.setdefault(verdict.cell_id, []).append(verdict)
        cells = Cell.objects.filter(pk__in=batch).order_by("pk").values_list("pk", *_OF_CASE, named=True)
        for cell in _require_all(batch, list(cells)):
            yield cell, scores.get(cell.pk, ())


def _verdict(cell: Any, scores: Sequence[Any]) -> tuple[str, str]:
    """Return the element in a test case, empty if it passes, and the reason."""
    if cell.state == CellState.SKIPPED:
        return "skipped", "The item was not run."
    if cell.state == CellState.ERROR:
        return "error", cell.error_message or cell.error_code
    failed = [score for score in scores if score.error_code]
    if failed:
        return "error", _join_reasons(failed, "error_message")
    refused = [score for score in scores if score.passed is False]
    if refused:
        return "failure", _join_reasons(refused, "reason")
    if any(score.passed for score in scores):
        return "", ""
    return "skipped", _join_reasons(scores, "not_scorable") or "No scorer decides whether it passes."


def _join_reasons(scores: Iterable[Any], member: str) -> str:
    return "; ".join(f"{score.scorer_id}: {getattr(score, member) or 'does not pass'}" for score in scores)


def _plain(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


FORMATS: Final[Mapping[str, ResultFormat]] = {
    "jsonl": ResultFormat(
        "application/x-ndjson",
        "jsonl",
        lambda experiment: (canonical.dump(result) + "\n" for result in _dump_results(experiment)),
    ),
    "csv": ResultFormat("text/csv; charset=utf-8", "csv", _write_csv),
    "junit": ResultFormat("application/xml; charset=utf-8", "xml", _write_junit),
}
