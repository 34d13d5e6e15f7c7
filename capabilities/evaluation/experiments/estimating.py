"""Say what an experiment would be and use, without storing or asking anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db.models import Avg

from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.experiments.models import Cell, Experiment, ExperimentScorer, State, TargetType
from capabilities.evaluation.experiments.scoring_cells import JUDGE, names_others
from capabilities.evaluation.experiments.starting import Plan, known_by_id, planned
from capabilities.evaluation.scoring.scoring import MISSING, Attempt, cannot_score, problem_of, text_of
from versioning.conf import get_editor, get_framework
from versioning.domain.access import APPLICATION
from versioning.domain.prices import plus
from versioning.editor.resources import Who, caller_of
from versioning.runtime.prices import PricedModel, Prices
from versioning.verbs import Verbs

CHARACTERS: Final = 4
"""How many characters a token has, about."""
VERDICT_TOKENS: Final = 60
"""How long the answer of a judge is, about: a reason and a label."""
_AT_ONCE: Final = 50
_RUNS: Final = 5
"""How many of the newest experiments say how long answers usually are, and take."""


@dataclass(frozen=True, kw_only=True)
class PlanProblem:
    """Something that does not prevent an experiment, and that it suffers from."""

    code: str
    message: str
    scorer_id: str | None = None


@dataclass(kw_only=True)
class Estimate:
    """What an experiment would be; its new baseline is counted too."""

    cells: int
    not_scorable: dict[str, int]
    """The items that a scorer cannot score for any answer, by scorer."""
    problems: Sequence[PlanProblem]
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float | None = None
    """How long one worker needs; None where the target has not answered an item of the dataset yet."""
    cost: Decimal | None = Decimal(0)
    """In US dollars; None where the price of a model is unknown."""


def estimate(
    experiments: Verbs, dataset_id: str, given: Mapping[str, Any], *, by: Who = APPLICATION
) -> Estimate:
    """Return what an experiment of these members would be; raises as starting it would.

    Tokens are guessed from the length of the texts, and those of answers from earlier ones of the target to
    items of the dataset; without any, from the ground truths.
    """
    known_by_id(dataset_id, given, caller_of(by))
    return estimated(planned(experiments, dataset_id, given, by=by), given.get("attempts", 1))


def estimated(plan: Plan, attempts: int, *, sample: int | None = None) -> Estimate:
    """Return what an experiment that is planned would be.

    With a `sample` only so many items are read: their tokens stand for those of the others, which
    `not_scorable` leaves out.
    """
    runs = 1 if plan.baseline is None or isinstance(plan.baseline, Experiment) else 2
    cells = plan.items * attempts * runs
    found = Estimate(
        cells=cells,
        not_scorable=dict.fromkeys((scorer.scorer_id for scorer in plan.scorers), 0),
        problems=list(_problems(plan)),
    )
    before = _before(plan)
    characters: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    read = plan.items if sample is None else min(sample, plan.items)
    for revision in _items(plan, read):
        cell = Cell(revision=revision)
        judges = [one for one in _able(plan.scorers, cell, found) if one.config["type"] == JUDGE]
        if plan.target.type != TargetType.NONE:
            _add_characters(characters, plan, cell, judges, before["tokens"])
    editor = get_editor()
    catalog, known = editor.providers(), Prices(editor.prices())
    for (provider, name), asked in characters.items():
        tokens = [round(number * cells / read / CHARACTERS) for number in asked]
        found.input_tokens += tokens[0]
        found.output_tokens += tokens[1]
        model = PricedModel.of({"provider": provider, "name": name}, catalog)
        found.cost = plus(found.cost, known.of_tokens(model, *tokens))
    if before["milliseconds"] is not None:
        found.seconds = before["milliseconds"] * cells / settings.EDITOR_EVALUATION_CONCURRENCY / 1000
    return found


def _items(plan: Plan, count: int) -> Iterator[Revision]:
    rows = Revision.objects.of_version(plan.dataset, plan.version.version)
    return rows.order_by("pk")[:count].iterator(chunk_size=_AT_ONCE)


def _able(scorers: Sequence[ExperimentScorer], cell: Cell, found: Estimate) -> Iterator[ExperimentScorer]:
    """Yield the scorers that can score some answer to an item, and count it for the others."""
    truth = cell.member("groundTruth")
    attempt = Attempt(
        input=cell.member("input"),
        output="",
        ground_truth=MISSING if truth is None else truth,
        metadata=cell.member("metadata") or {},
        tool_calls=(),
        tokens=0,
        milliseconds=0,
    )
    for scorer in scorers:
        if names_others(cell, scorer) or cannot_score(scorer.config, attempt):
            found.not_scorable[scorer.scorer_id] += 1
        else:
            yield scorer


def _add_characters(
    found: Mapping[tuple[str, str], list[int]],
    plan: Plan,
    cell: Cell,
    judges: Sequence[ExperimentScorer],
    usual: float | None,
) -> None:
    """Add the characters of an item in one attempt, by provider and model: asked, and answered."""
    asked, truth = len(text_of(cell.member("input"))), cell.member("groundTruth")
    expected = 0 if truth is None else len(text_of(truth))
    answered = round(expected if usual is None else usual * CHARACTERS)
    is_agent, config = plan.target.type == TargetType.AGENT, plan.target.config or {}
    if is_agent or config.get("type") == JUDGE:
        _add(
            found,
            plan.target.model if is_agent else config.get("model"),
            len(plan.target.instructions or "") + asked,
            answered,
        )
    for judge in judges:
        rubric = judge.config.get("instructions", "") if judge.instructions is None else judge.instructions
        sent = len(rubric) + asked + answered + expected
        _add(found, judge.config.get("model"), sent, VERDICT_TOKENS * CHARACTERS)


def _add(
    found: Mapping[tuple[str, str], list[int]], model: Mapping[str, Any] | None, sent: int, answered: int
) -> None:
    named = model or {}
    numbers = found[str(named.get("provider", "")), str(named.get("name", ""))]
    numbers[0] += sent
    numbers[1] += answered


def _before(plan: Plan) -> dict[str, float | None]:
    """Return the tokens and the milliseconds of an answer of the target so far, as means; None without."""
    runs = Experiment.objects.filter(
        dataset=plan.dataset, target_type=plan.target.type, target_id=plan.target.id
    ).order_by("-created_at", "pk")
    newest = list(runs.values_list("pk", flat=True)[:_RUNS])
    cells = Cell.objects.filter(experiment__in=newest, state=State.DONE, output_tokens__gt=0)
    return cells.aggregate(tokens=Avg("output_tokens"), milliseconds=Avg("milliseconds"))


def _problems(plan: Plan) -> Iterator[PlanProblem]:
    functions = get_framework().scorers
    for scorer in plan.scorers:
        problem = problem_of(scorer.config, functions, scorer.instructions)
        if problem is not None:
            yield PlanProblem(code=problem.code, message=problem.message, scorer_id=scorer.scorer_id)
        elif scorer.config["type"] == JUDGE and plan.target.model and _same_model(scorer, plan.target.model):
            message = "The judge is the model that it judges."
            yield PlanProblem(code="self_judge", message=message, scorer_id=scorer.scorer_id)


def _same_model(judge: ExperimentScorer, model: Mapping[str, Any]) -> bool:
    own = judge.config.get("model") or {}
    return all(own.get(name) == model.get(name) for name in ("provider", "name"))
