"""Which items two runs have in common, and what comparing them says; pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from editor_client.shared.pairing import Comparison, Run, Scored, Yardstick, compare

NOON = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)
Values = Mapping[str, Sequence[float]]


def run(values: Values, *, name: str = "here", graded: bool = False, **more: Any) -> Run:
    """Return a run with one scorer, and the values of its items by attempt; None is an error."""
    yardstick = Yardstick(
        scorer_id="good", is_primary=True, is_graded=graded, tie=0.05, configuration=more.pop("config", "v1")
    )
    scores = {
        item: Scored(
            values=[one for one in given if one is not None],
            passed=[one >= 0.5 for one in given if one is not None],
            errors=sum(one is None for one in given),
        )
        for item, given in values.items()
    }
    settings: dict[str, Any] = {
        "id": name,
        "started_at": NOON,
        "models": frozenset(),
        "attempts": max((len(given) for given in values.values()), default=1),
        "contents": dict.fromkeys(values, "asked"),
        "scores": {"good": scores},
        "yardsticks": {"good": yardstick},
    }
    return Run(**settings | more)


def single(*passed: int) -> Values:
    return {f"item{number}": [one] for number, one in enumerate(passed)}


def said(comparison: Comparison) -> tuple[int, int, int, str]:
    primary = comparison.primary
    assert primary is not None
    return primary.wins, primary.losses, primary.ties, str(primary.verdict)


def test_pass_or_fail_is_counted_by_items() -> None:
    here, baseline = run(single(*[1] * 9, *[0] * 2, *[1] * 39)), run(single(*[0] * 9, *[1] * 2, *[1] * 39))
    comparison = compare(here, baseline)
    [scorer] = comparison.scorers
    assert (comparison.pairs, said(comparison)) == (50, (9, 2, 39, "noDifferenceFound"))
    assert (scorer.difference, scorer.detectable) == (pytest.approx(0.14), 20)
    assert scorer.interval == pytest.approx((0.003734, 0.265496), abs=1e-6)
    assert [one.difference for one in comparison.items] == [-1] * 2 + [0] * 39 + [1] * 9  # worst first


def test_too_few_pairs_have_no_verdict_and_equal_runs_no_difference() -> None:
    assert said(compare(run(single(*[0] * 9)), run(single(*[1] * 9)))) == (0, 9, 0, "tooFew")
    assert said(compare(run(single(*[1] * 20)), run(single(*[1] * 20)))) == (0, 0, 20, "noDifferenceFound")
    assert said(compare(run(single(*[0] * 6, *[1] * 4)), run(single(*[1] * 10)))) == (0, 6, 4, "worse")


def test_several_attempts_are_one_value_and_small_differences_are_ties() -> None:
    here = run({"a": [1, 1, 0], "b": [0, 0, 0], "c": [1, 1, 1]})
    baseline = run({"a": [1, 1, 0], "b": [1, 0, 0], "c": [0, 1, 1]})
    comparison = compare(here, baseline)
    assert said(comparison) == (1, 1, 1, "tooFew")
    assert comparison.items[0].difference == pytest.approx(-1 / 3)
    assert comparison.scorers[0].interval is None
    graded = compare(run({"a": [0.55]}, graded=True), run({"a": [0.5]}, graded=True))
    assert said(graded)[:3] == (0, 0, 1)  # the tie itself is one
    assert said(compare(run({"a": [0.56]}, graded=True), run({"a": [0.5]}, graded=True)))[:3] == (1, 0, 0)


def test_thirty_graded_pairs_have_an_interval() -> None:
    values = {f"item{number}": [0.3 + number / 100] for number in range(30)}
    higher = {item: [value[0] + 0.1 + number % 3 / 10] for number, (item, value) in enumerate(values.items())}
    [scorer] = compare(run(higher, graded=True), run(values, graded=True)).scorers
    assert (scorer.verdict, scorer.wins) == ("better", 30)
    assert scorer.interval is not None and scorer.interval[0] > 0.1 < scorer.difference < scorer.interval[1]


@pytest.mark.parametrize(
    ("here", "baseline", "expected"),
    [
        (run(single(1, 1, 1)), run(single(1, 1)), {"only_here": 1}),
        (run(single(1)), run(single(1, 1, 1)), {"only_baseline": 2}),
        (run(single(1, 1), contents={"item0": 1, "item1": 2}), run(single(1, 1)), {"changed_items": 2}),
        (run({"a": [None], "b": [1]}), run({"a": [1], "b": [None]}), {"errors": 2}),
        (run({"a": [None, 1]}), run({"a": [1, 1]}), {}),  # what was scored is a value
        (run(single(1), scores={"good": {}}), run(single(1)), {"not_scorable": 1}),
        (run(single(1)), run(single(1), config="v2"), {"not_scorable": 1}),
        (run(single(1)), run(single(1), yardsticks={}), {"not_scorable": 1}),
    ],
)
def test_what_is_in_no_pair_is_counted_by_the_reason(
    here: Run, baseline: Run, expected: dict[str, int]
) -> None:
    found = vars(compare(here, baseline).left_out)
    assert {name: count for name, count in found.items() if count} == expected


def test_runs_a_day_apart_or_of_other_models_are_not_contemporary() -> None:
    later = NOON + datetime.timedelta(days=1)
    assert not compare(run(single(1)), run(single(1))).not_contemporary
    assert compare(run(single(1), started_at=later), run(single(1))).not_contemporary
    new, old = frozenset({"gpt-5-2026-11"}), frozenset({"gpt-5-2026-03"})
    assert compare(run(single(1), models=new), run(single(1), models=old)).not_contemporary
    assert not compare(run(single(1), models=new), run(single(1))).not_contemporary


def test_runs_without_scorers_have_no_pairs() -> None:
    comparison = compare(run(single(1), yardsticks={}), run(single(1), yardsticks={}))
    assert (comparison.pairs, comparison.primary, comparison.items) == (0, None, ())
