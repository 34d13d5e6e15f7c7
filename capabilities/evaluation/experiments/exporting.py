"""The results of an experiment as a file, read little by little."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from xml.etree import ElementTree

from editor_client.shared import canonical

from capabilities.evaluation.datasets.formats.tables import cell_of
from capabilities.evaluation.experiments.finding import find
from capabilities.evaluation.experiments.models import Cell, CellQuerySet, Experiment, Score, State
from capabilities.evaluation.experiments.result_schemas import ResultAnswer
from versioning.domain.access import APPLICATION
from versioning.domain.csv_files import lines
from versioning.domain.errors import NotFound
from versioning.editor.resources import Who
from versioning.models.storage import give_back

_AT_ONCE: Final = 100
"""The results that are in memory at a time."""
_COLUMNS: Final = (
    "id",
    "itemId",
    "attempt",
    "input",
    "output",
    "groundTruth",
    "metadata",
    "error",
    "inputTokens",
    "outputTokens",
    "milliseconds",
    "startedAt",
    "completedAt",
)
_OF_SCORER: Final = ("score", "passed", "label", "reason")
_OF_CASE: Final = ("item_id", "attempt", "state", "milliseconds", "error_code", "error_message")
_OF_VERDICT: Final = ("scorer_id", "error_code", "error_message", "passed", "reason", "not_scorable")
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Result = Mapping[str, Any]
T = TypeVar("T")


class ResultFormat(NamedTuple):
    """How results are written to a file."""

    media_type: str
    suffix: str
    write: Callable[[Experiment], Iterator[str]]


def export_results(
    experiment_id: str,
    *,
    format: str,
    dataset_id: str | None = None,
    by: Who = APPLICATION,
) -> Iterator[str]:
    """Return the parts of a file with the results that there are, in the order in which the items ran.

    `format` is one of `FORMATS`. Raises `NotFound`, as the iterator does if the experiment is deleted before
    it ends.
    """
    return FORMATS[format].write(find(experiment_id, dataset_id=dataset_id, by=by))


def _some(rows: CellQuerySet) -> Iterator[list[int]]:
    """Yield the keys of a few cells at a time, in the order in which they ran."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _read(rows: CellQuerySet) -> Iterator[Cell]:
    for some in _some(rows):
        found = Cell.objects.filter(pk__in=some).with_revisions().prefetch_related("scores")
        yield from _all_of(some, list(found.order_by("pk")))


def _all_of(some: Sequence[int], read: Sequence[T]) -> Sequence[T]:
    """Return what was read; raises `NotFound` if a cell is gone."""
    give_back()  # while the reader takes them
    if len(read) < len(some):
        raise NotFound
    return read


def _results(experiment: Experiment) -> Iterator[Result]:
    return map(ResultAnswer.dump, _read(Cell.objects.over().filter(experiment=experiment)))


def _json_lines(experiment: Experiment) -> Iterator[str]:
    return (canonical.dump(result) + "\n" for result in _results(experiment))


def _table(experiment: Experiment) -> Iterator[str]:
    """Yield a row for each result, with columns for each scorer."""
    pinned = list(experiment.scorers.values_list("scorer_id", flat=True))
    own = Score.objects.filter(cell__experiment=experiment).order_by()
    others = own.exclude(scorer_id__in=pinned).values_list("scorer_id", flat=True).distinct()
    scorers = [*pinned, *sorted(others)]
    header = [*_COLUMNS, *(f"{member}.{scorer}" for scorer in scorers for member in _OF_SCORER)]
    yield from lines(header, (_row(result, scorers) for result in _results(experiment)))


def _row(result: Result, scorers: Sequence[str]) -> Iterator[str]:
    said = {score["scorerId"]: score for score in result["scores"]}
    values = [result[name] for name in _COLUMNS]
    values += [said.get(scorer, {}).get(member) for scorer in scorers for member in _OF_SCORER]
    return ("" if value is None else cell_of(value) for value in values)


def _junit(experiment: Experiment) -> Iterator[str]:
    """Yield a test case for each attempt of an item, read twice, because the counts stand first.

    It fails by the primary scorer, or without one by any; an item that was skipped or cannot be scored is
    skipped, and a scorer that failed is an error.
    """
    primary = experiment.scorers.filter(is_primary=True).values_list("scorer_id", flat=True).first()
    kinds = Counter(_verdict(cell, scores)[0] for cell, scores in _judged(experiment, primary))
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
    for cell, scores in _judged(experiment, primary):
        yield _case(cell, *_verdict(cell, scores))
    yield "</testsuite>\n"


def _judged(experiment: Experiment, primary: str | None) -> Iterator[tuple[Any, Sequence[Any]]]:
    """Yield what decides about each cell that has ended: only these columns of it and of its scores."""
    said = Score.objects.all() if primary is None else Score.objects.filter(scorer_id=primary)
    for some in _some(Cell.objects.filter(experiment=experiment).exclude(state=State.QUEUED)):
        scores: dict[int, list[Any]] = {}
        rows = said.filter(cell__in=some).order_by("-created_at", "pk")
        for score in rows.values_list("cell_id", *_OF_VERDICT, named=True):
            scores.setdefault(score.cell_id, []).append(score)
        cells = Cell.objects.filter(pk__in=some).order_by("pk").values_list("pk", *_OF_CASE, named=True)
        for cell in _all_of(some, list(cells)):
            yield cell, scores.get(cell.pk, ())


def _case(cell: Any, kind: str, message: str) -> str:
    case = ElementTree.Element(
        "testcase", name=f"{cell.item_id} attempt {cell.attempt + 1}", time=f"{cell.milliseconds / 1000:.3f}"
    )
    if kind:
        ElementTree.SubElement(case, kind, message=_plain(message))
    return ElementTree.tostring(case, encoding="unicode") + "\n"


def _verdict(cell: Any, scores: Sequence[Any]) -> tuple[str, str]:
    """Return the element in a test case, empty if it passes, and why."""
    if cell.state == State.SKIPPED:
        return "skipped", "The item was not run."
    if cell.state == State.ERROR:
        return "error", cell.error_message or cell.error_code
    failed = [score for score in scores if score.error_code]
    if failed:
        return "error", _said(failed, "error_message")
    refused = [score for score in scores if score.passed is False]
    if refused:
        return "failure", _said(refused, "reason")
    if any(score.passed for score in scores):
        return "", ""
    return "skipped", _said(scores, "not_scorable") or "No scorer says whether it passes."


def _said(scores: Iterable[Any], member: str) -> str:
    return "; ".join(f"{score.scorer_id}: {getattr(score, member) or 'does not pass'}" for score in scores)


def _plain(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NOT_IN_XML.sub("\ufffd", text)


FORMATS: Final[Mapping[str, ResultFormat]] = {
    "jsonl": ResultFormat("application/x-ndjson", "jsonl", _json_lines),
    "csv": ResultFormat("text/csv; charset=utf-8", "csv", _table),
    "junit": ResultFormat("application/xml; charset=utf-8", "xml", _junit),
}
