"""Compare two runs item by item. Pure: their data is passed in.

Only items with the same content in both runs count: a comparison of different questions is meaningless.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import fmean
from typing import Any, Final

from editor_client.shared import canonical, statistics
from editor_client.shared.scores import GRADED, TIE, bounds
from editor_client.shared.statistics import Verdict

CONTEMPORARY: Final = datetime.timedelta(days=1)
"""Runs further apart may differ because of the provider instead of the prompt."""


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """A scorer in the configuration of a run."""

    scorer_id: str
    is_primary: bool
    is_graded: bool
    """Whether its scores are more than pass or fail."""
    tie: float
    """The difference up to which two values count as equal."""
    configuration: Hashable
    """The configuration that determines its scores: values by different yardsticks are not compared."""

    @classmethod
    def of(
        cls, scorer_id: str, config: Mapping[str, Any], instructions: str | None, *, is_primary: bool
    ) -> Yardstick:
        """Return a scorer in a configuration, with its text if it is a judge."""
        low, high = bounds(config)
        tie = config.get("tie")
        deciding = {name: value for name, value in config.items() if name not in {"name", "description"}}
        return cls(
            scorer_id=scorer_id,
            is_primary=is_primary,
            is_graded=config["type"] in GRADED,
            tie=TIE * (high - low) if tie is None else tie,
            configuration=(canonical.comparable(deciding), instructions),
        )

    @classmethod
    def for_sent_scores(cls, scorer_id: str) -> Yardstick:
        """Return a scorer of which only its scores, sent by an application, are known."""
        return cls(scorer_id=scorer_id, is_primary=False, is_graded=True, tie=TIE, configuration=None)


@dataclass(kw_only=True)
class Scored:
    """The scores of a scorer for an item, over all attempts."""

    values: list[float] = field(default_factory=list)
    passed: list[bool] = field(default_factory=list)
    errors: int = 0
    """The number of attempts that failed or could not be judged."""

    @property
    def value(self) -> float:
        """The mean over the attempts."""
        return fmean(self.values)

    @property
    def pass_share(self) -> float:
        """The share of the attempts that passed, which need not be the value of a graded scorer."""
        return fmean(self.passed)

    @property
    def is_flaky(self) -> bool:
        """Whether it passed in some attempts, and not in all."""
        return len(set(self.passed)) > 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run, with the data of its items."""

    id: str
    started_at: datetime.datetime | None
    models: frozenset[str]
    """The models that the provider reported."""
    attempts: int
    yardsticks: Mapping[str, Yardstick]
    """By the ids of the scorers, in their order."""
    contents: Mapping[str, Hashable]
    """The input and the reference answer, by the id of the item."""
    scores: Mapping[str, Mapping[str, Scored]]
    """By scorer and item; an item that cannot be scored is missing."""
    tokens: Mapping[str, float] = field(default_factory=dict)
    """The tokens of each item, as the mean over its attempts."""
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def primary(self) -> str | None:
        """The id of the primary scorer; None without scorers."""
        primary = (yardstick.scorer_id for yardstick in self.yardsticks.values() if yardstick.is_primary)
        return next(primary, next(iter(self.yardsticks), None))


def join_runs(runs: Sequence[Run]) -> Run:
    """Return several runs of one configuration over the same items as one: their attempts are its own.

    `runs` are newest first; there is at least one.
    """
    first, *other_runs = runs
    if not other_runs:
        return first
    scores: dict[str, dict[str, Scored]] = {}
    tokens: dict[str, list[float]] = {}
    tags: dict[str, frozenset[str]] = {}
    for run in runs:
        for scorer_id, items in run.scores.items():
            for item_id, scored in items.items():
                joined = scores.setdefault(scorer_id, {}).setdefault(item_id, Scored())
                joined.values += scored.values
                joined.passed += scored.passed
                joined.errors += scored.errors
        for item_id, count in run.tokens.items():
            tokens.setdefault(item_id, []).extend([count] * run.attempts)
        for item_id, own in run.tags.items():
            tags[item_id] = tags.get(item_id, frozenset()) | own
    return replace(
        first,
        id="\n".join(run.id for run in runs),
        models=frozenset().union(*(run.models for run in runs)),
        attempts=sum(run.attempts for run in runs),
        contents={item_id: content for run in reversed(runs) for item_id, content in run.contents.items()},
        scores=scores,
        tokens={item_id: fmean(counts) for item_id, counts in tokens.items()},
        tags=tags,
    )


class ItemOutcome(StrEnum):
    """The outcome of an item compared with the baseline."""

    WIN = "win"
    LOSS = "loss"
    TIE = "tie"


@dataclass(frozen=True, kw_only=True)
class ComparedItem:
    """An item that both runs scored."""

    item_id: str
    outcome: ItemOutcome
    difference: float
    here: float
    baseline: float


@dataclass(kw_only=True)
class LeftOut:
    """The number of items in no pair, by reason."""

    only_here: int = 0
    only_baseline: int = 0
    changed_items: int = 0
    errors: int = 0
    not_scorable: int = 0


@dataclass(frozen=True, kw_only=True)
class ComparedScorer:
    """The comparison of the pairs by one scorer."""

    scorer_id: str
    primary: bool
    items: Sequence[ComparedItem]
    """Worst first."""
    wins: int
    losses: int
    ties: int
    difference: float
    interval: tuple[float, float] | None
    p: float
    verdict: Verdict
    detectable: int | None

    @property
    def pairs(self) -> int:
        """The number of items that both runs scored."""
        return len(self.items)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of a run with its baseline."""

    pairs: int
    """Those of the primary scorer."""
    left_out: LeftOut
    not_contemporary: bool
    scorers: Sequence[ComparedScorer]

    @property
    def primary(self) -> ComparedScorer | None:
        """The comparison by the primary scorer."""
        return next((scorer for scorer in self.scorers if scorer.primary), None)

    @property
    def items(self) -> Sequence[ComparedItem]:
        """The items of the primary scorer, worst first."""
        return () if self.primary is None else self.primary.items


def compare(here: Run, baseline: Run) -> Comparison:
    """Return the comparison of a run with its baseline, by each scorer that both used."""
    left_out = LeftOut()
    common = _common_items(here, baseline, left_out)
    primary = here.primary
    scorers = []
    for scorer_id, yardstick in here.yardsticks.items():
        if scorer_id in baseline.yardsticks:
            counted = left_out if scorer_id == primary else LeftOut()
            ids = list(_scored_in_both(scorer_id, common, here, baseline, counted))
            scorers.append(_by_scorer(yardstick, ids, here, baseline, is_primary=scorer_id == primary))
    if primary is not None and primary not in baseline.yardsticks:
        left_out.not_scorable = len(common)
    # They were on different days, or the provider reported different models.
    is_apart = bool(here.models and baseline.models) and here.models != baseline.models
    if here.started_at is not None and baseline.started_at is not None:
        is_apart = is_apart or abs(here.started_at - baseline.started_at) >= CONTEMPORARY
    return Comparison(
        pairs=next((scorer.pairs for scorer in scorers if scorer.primary), 0),
        left_out=left_out,
        not_contemporary=is_apart,
        scorers=scorers,
    )


def _common_items(here: Run, baseline: Run, left_out: LeftOut) -> list[str]:
    """Return the items that had the same content in both runs."""
    left_out.only_here = len(here.contents.keys() - baseline.contents.keys())
    left_out.only_baseline = len(baseline.contents.keys() - here.contents.keys())
    shared_ids = [item_id for item_id in here.contents if item_id in baseline.contents]
    common = [item_id for item_id in shared_ids if here.contents[item_id] == baseline.contents[item_id]]
    left_out.changed_items = len(shared_ids) - len(common)
    return common


def _scored_in_both(
    scorer_id: str, items: Iterable[str], here: Run, baseline: Run, left_out: LeftOut
) -> Iterable[str]:
    """Yield the items to which a scorer gave a value in both runs; an error is neither a value nor a zero."""
    is_same = here.yardsticks[scorer_id].configuration == baseline.yardsticks[scorer_id].configuration
    for item_id in items:
        sides = [run.scores.get(scorer_id, {}).get(item_id) for run in (here, baseline)]
        if is_same and all(side is not None and side.values for side in sides):
            yield item_id
        elif any(side is not None and not side.values and side.errors for side in sides):
            left_out.errors += 1
        else:
            left_out.not_scorable += 1


def _by_scorer(
    yardstick: Yardstick, ids: Sequence[str], here: Run, baseline: Run, *, is_primary: bool
) -> ComparedScorer:
    scorer_id = yardstick.scorer_id
    is_single = here.attempts == baseline.attempts == 1 and not yardstick.is_graded
    tie = 0.0 if is_single else yardstick.tie
    items = []
    for item_id in ids:
        here_scored, baseline_scored = (run.scores[scorer_id][item_id] for run in (here, baseline))
        a, b = (float(each.passed[0]) if is_single else each.value for each in (here_scored, baseline_scored))
        outcome = ItemOutcome.WIN if a > b else ItemOutcome.LOSS
        if abs(a - b) <= tie + 1e-9:  # means of the same values in another order differ in their last digits
            outcome = ItemOutcome.TIE
        items.append(ComparedItem(item_id=item_id, outcome=outcome, difference=a - b, here=a, baseline=b))
    items.sort(key=lambda item: (item.difference, item.item_id))
    counts = {outcome: sum(1 for item in items if item.outcome is outcome) for outcome in ItemOutcome}
    wins, losses = counts[ItemOutcome.WIN], counts[ItemOutcome.LOSS]
    differences = [item.difference for item in items]
    difference = fmean(differences) if differences else 0.0
    if is_single:
        p = statistics.sign_test(wins, losses)
        interval = statistics.interval(wins, losses, len(items)) if items else None
    else:
        p = statistics.sign_flips(differences, f"{baseline.id}\n{here.id}")
        interval = statistics.t_interval(differences)
    return ComparedScorer(
        scorer_id=scorer_id,
        primary=is_primary,
        items=items,
        wins=wins,
        losses=losses,
        ties=counts[ItemOutcome.TIE],
        difference=difference,
        interval=interval,
        p=p,
        verdict=statistics.verdict(len(items), difference, p),
        detectable=statistics.detectable(len(items)),
    )
