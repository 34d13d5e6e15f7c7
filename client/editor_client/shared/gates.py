"""The requirements of gates for a version: its evidence, and their rules. Pure.

Evidence is an experiment. The readers of experiments, the service and the editor in memory, pass in their
data; `E` is their type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from statistics import fmean
from typing import Any, Final, Generic, TypeVar

from editor_client.shared import canonical
from editor_client.shared.pairing import ComparedScorer, Comparison, Run, Scored, compare, join_runs
from editor_client.shared.statistics import Verdict

E = TypeVar("E")
Rule = Mapping[str, Any]
_MOST: Final = 0.5
_LEAST_DIGITS: Final = 1e-9
"""Shares of the same size, computed in another order, differ in their last digits."""


class GateState(StrEnum):
    """Why a gate is not satisfied; in the order in which reasons are given."""

    SCORER_GONE = "scorer_gone"
    RUNNING = "running"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    TOO_FEW = "tooFew"
    STALE = "stale"
    MISSING = "missing"


@dataclass(frozen=True)
class Evidence(Generic[E]):
    """The evidence of experiments for a configuration."""

    experiment: E | None = None
    """The newest evidence, or if there is none, the experiment that comes closest to it."""
    lacks: GateState | None = GateState.MISSING
    """Why there is no evidence; None if there is."""
    counting: Sequence[E] = ()
    """All experiments whose results count together, newest first; empty without evidence."""


@dataclass(frozen=True)
class GateAnswer(Generic[E]):
    """The judgement of a gate."""

    state: GateState | None
    """Why it is not satisfied; None if it is."""
    rule: Rule | None
    """The failed rule, or the one without evidence; None if none was evaluated."""
    experiment: E | None
    is_allowed: bool = False
    """Whether the gate allows a version in this state, which is then `TOO_FEW`."""


def gathered_evidence(
    experiments: Sequence[E],
    *,
    is_present: Callable[[E], bool],
    is_whole: Callable[[E], bool],
    is_running: Callable[[E], bool],
    attempts: Callable[[E], int],
    wanted: int,
) -> Evidence[E]:
    """Return the evidence for a configuration, or the reason why there is none.

    `experiments` are those of the configuration, newest first. All that are evidence count together, and need
    the `wanted` attempts together: running it again adds attempts, and replaces none. The results of stopped
    ones also count, so that stopping an experiment in time does not hide a failure.
    """
    fitting = [experiment for experiment in experiments if is_present(experiment)]
    whole = [scorer for scorer in fitting if is_whole(scorer)]
    if whole and sum(map(attempts, whole)) >= wanted:
        return Evidence(
            whole[0], None, [scorer for scorer in fitting if scorer in whole or not is_running(scorer)]
        )
    for scorer in fitting:
        if is_running(scorer):
            return Evidence(scorer, GateState.RUNNING)
    if fitting:
        return Evidence(fitting[0], GateState.INCOMPLETE)
    return Evidence(experiments[0], GateState.STALE) if experiments else Evidence()


def judge_gate(
    rules: Sequence[Rule],
    here: Evidence[E],
    live: Callable[[], Evidence[E]] | None,
    run: Callable[[E], Run],
    *,
    allows_too_few: bool = False,
) -> GateAnswer[E]:
    """Return the judgement of a gate: about the evidence first, then about each rule in order.

    `live` returns the evidence for the last live configuration; None if there was none, so that no version is
    worse. With `allows_too_few`, a rule that is undecided for too few items passes; `is_allowed` records
    that.
    """
    if here.experiment is None or here.lacks is not None:
        return GateAnswer(here.lacks, None, here.experiment)
    joined_run = join_runs([run(cell) for cell in here.counting])
    undecided: Rule | None = None
    for rule in rules:
        if not speaks_of_live(rule):
            answer = holds(rule, joined_run)
        elif live is None:
            continue
        else:
            other = live()
            if other.experiment is None or other.lacks is not None:
                return GateAnswer(other.lacks, rule, other.experiment)
            answer = holds_against_live(rule, joined_run, join_runs([run(cell) for cell in other.counting]))
        if answer is Answer.TOO_FEW and allows_too_few:
            undecided = undecided or rule
        elif answer is not Answer.HOLDS:
            state = GateState.TOO_FEW if answer is Answer.TOO_FEW else GateState.FAILED
            return GateAnswer(state, rule, here.experiment)
    if undecided is not None:
        return GateAnswer(GateState.TOO_FEW, undecided, here.experiment, is_allowed=True)
    return GateAnswer(None, None, here.experiment)


class Answer(Enum):
    """The result of a rule."""

    HOLDS = auto()
    FAILS = auto()
    UNDECIDABLE = auto()
    """The evidence cannot decide, for example for a tag that no item has; the version is refused."""
    TOO_FEW = auto()
    """There are too few items to show the difference that the rule requires."""


def holds(rule: Rule, here: Run) -> Answer:
    """Return whether a rule about a version alone holds."""
    return _ALONE[rule["rule"]](rule, here)


def holds_against_live(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether a rule that compares a version with the live one holds."""
    return _BESIDE_LIVE[rule["rule"]](rule, here, live)


def speaks_of_live(rule: Rule) -> bool:
    """Return whether a rule also needs evidence for the live version."""
    return rule["rule"] in _BESIDE_LIVE


def _answer(*, holds: bool) -> Answer:
    return Answer.HOLDS if holds else Answer.FAILS


def _all_pass(rule: Rule, here: Run) -> Answer:
    """Return whether every item, or every one with the tag, passes in every attempt."""
    scored = here.scores.get(rule.get("scorerId") or here.primary or "", {})
    tag = rule.get("tag")
    results = [value for item_id, value in scored.items() if tag is None or tag in here.tags.get(item_id, ())]
    if not results or not all(result.passed for result in results):
        return Answer.UNDECIDABLE
    return _answer(holds=all(all(result.passed) for result in results))


def _pass_rate(rule: Rule, here: Run) -> Answer:
    shares = [result.pass_share for result in _primary_scores(here).values() if result.passed]
    if not shares:
        return Answer.UNDECIDABLE
    return _answer(holds=fmean(shares) >= rule["min"] - _LEAST_DIGITS)


def _not_worse(rule: Rule, here: Run, live: Run) -> Answer:
    comparison = compare(here, live)
    if comparison.primary is None or not comparison.pairs:
        return Answer.UNDECIDABLE
    if comparison.primary.verdict is Verdict.TOO_FEW:
        return Answer.TOO_FEW
    return _answer(holds=comparison.primary.verdict is not Verdict.WORSE)


def _non_inferior(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether the version is at most the margin worse: by the low end of the interval.

    An interval that is wider than the margin, and not entirely beyond it, is inconclusive.
    """
    primary: ComparedScorer | None = compare(here, live).primary
    if primary is None or not primary.items:
        return Answer.UNDECIDABLE
    if primary.interval is None:
        return Answer.TOO_FEW
    low, high = primary.interval
    if low > -rule["margin"]:
        return Answer.HOLDS
    is_shown = high <= -rule["margin"] or high - low <= rule["margin"]
    return Answer.FAILS if is_shown else Answer.TOO_FEW


def _no_new_failures(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether no item that passed every attempt with the live version fails most attempts."""
    comparison: Comparison = compare(here, live)
    if not comparison.pairs:
        return Answer.UNDECIDABLE
    was, now = _primary_scores(live), _primary_scores(here)
    ids = [item.item_id for item in comparison.items if was[item.item_id].passed and now[item.item_id].passed]
    return _answer(
        holds=not any(all(was[item_id].passed) and now[item_id].pass_share < _MOST for item_id in ids)
    )


def _max_tokens(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether the mean per item is at most this many times that of the live version."""
    if not here.tokens or not live.tokens or not any(live.tokens.values()):
        return Answer.UNDECIDABLE
    mean, of_live = fmean(here.tokens.values()), fmean(live.tokens.values())
    return _answer(holds=mean <= rule["ratio"] * of_live * (1 + _LEAST_DIGITS))


def _primary_scores(run: Run) -> Mapping[str, Scored]:
    return run.scores.get(run.primary or "", {})


_ALONE: Final[Mapping[str, Callable[[Rule, Run], Answer]]] = {"allPass": _all_pass, "passRate": _pass_rate}
_BESIDE_LIVE: Final[Mapping[str, Callable[[Rule, Run, Run], Answer]]] = {
    "notWorse": _not_worse,
    "nonInferior": _non_inferior,
    "noNewFailures": _no_new_failures,
    "maxTokens": _max_tokens,
}


def target_digest(lock: Mapping[str, Any]) -> str:
    """Return the digest of the configurations in a lock, without the versions that hold them.

    A version that was restored has it again.
    """
    pins = {name: lock.get(name, {}) for name in ("agents", "promptBlocks")}
    return canonical.digest(
        {name: {item_id: pin["digest"] for item_id, pin in of.items()} for name, of in pins.items()}
    )
