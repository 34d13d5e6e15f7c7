"""The rules of gates, each for the evidence of a version and of what is live. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from statistics import fmean
from typing import Any, Final

from evaluation.comparison.pairing import Comparison, Run, Scored, compare
from evaluation.comparison.statistics import Verdict

Rule = Mapping[str, Any]
_MOST: Final = 0.5
_LEAST_DIGITS: Final = 1e-9
"""Shares of the same size, computed in another order, differ in their last digits."""


class Answer(Enum):
    """What the evidence says of a rule."""

    HOLDS = auto()
    FAILS = auto()
    UNDECIDABLE = auto()
    """The evidence does not say, such as for a tag that no item has; that is not enough to go live."""


def holds(rule: Rule, here: Run) -> Answer:
    """Return whether a rule about a version alone holds."""
    return _ALONE[rule["rule"]](rule, here)


def holds_beside(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether a rule about a version beside what is live holds."""
    return _BESIDE_LIVE[rule["rule"]](rule, here, live)


def speaks_of_live(rule: Rule) -> bool:
    """Return whether a rule needs evidence of what is live as well."""
    return rule["rule"] in _BESIDE_LIVE


def _answer(*, found: bool) -> Answer:
    return Answer.HOLDS if found else Answer.FAILS


def _all_pass(rule: Rule, here: Run) -> Answer:
    """Return whether every item, or every one with the tag, passes in every attempt."""
    scored = here.scores.get(rule.get("scorerId") or here.primary or "", {})
    tag = rule.get("tag")
    asked = [one for item_id, one in scored.items() if tag is None or tag in here.tags.get(item_id, ())]
    if not asked or not all(one.passed for one in asked):
        return Answer.UNDECIDABLE
    return _answer(found=all(all(one.passed) for one in asked))


def _pass_rate(rule: Rule, here: Run) -> Answer:
    shares = [one.pass_share for one in _of_primary(here).values() if one.passed]
    if not shares:
        return Answer.UNDECIDABLE
    return _answer(found=fmean(shares) >= rule["min"] - _LEAST_DIGITS)


def _not_worse(rule: Rule, here: Run, live: Run) -> Answer:
    comparison = compare(here, live)
    if comparison.primary is None or not comparison.pairs:
        return Answer.UNDECIDABLE
    return _answer(found=comparison.primary.verdict is not Verdict.WORSE)


def _non_inferior(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether the version is at most the margin worse: by the low end of the interval."""
    primary = compare(here, live).primary
    if primary is None or primary.interval is None:
        return Answer.UNDECIDABLE
    return _answer(found=primary.interval[0] > -rule["margin"])


def _no_new_failures(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether nothing that passed every attempt live fails most of them now."""
    comparison: Comparison = compare(here, live)
    if not comparison.pairs:
        return Answer.UNDECIDABLE
    was, now = _of_primary(live), _of_primary(here)
    ids = [item.item_id for item in comparison.items if was[item.item_id].passed and now[item.item_id].passed]
    return _answer(found=not any(all(was[one].passed) and now[one].pass_share < _MOST for one in ids))


def _max_tokens(rule: Rule, here: Run, live: Run) -> Answer:
    """Return whether the mean per item is at most so many times that of what is live."""
    if not here.tokens or not live.tokens or not any(live.tokens.values()):
        return Answer.UNDECIDABLE
    mean, of_live = fmean(here.tokens.values()), fmean(live.tokens.values())
    return _answer(found=mean <= rule["ratio"] * of_live * (1 + _LEAST_DIGITS))


def _of_primary(run: Run) -> Mapping[str, Scored]:
    return run.scores.get(run.primary or "", {})


_ALONE: Final[Mapping[str, Callable[[Rule, Run], Answer]]] = {"allPass": _all_pass, "passRate": _pass_rate}
_BESIDE_LIVE: Final[Mapping[str, Callable[[Rule, Run, Run], Answer]]] = {
    "notWorse": _not_worse,
    "nonInferior": _non_inferior,
    "noNewFailures": _no_new_failures,
    "maxTokens": _max_tokens,
}
