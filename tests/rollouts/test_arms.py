"""Which requests are in which arm: evenly spread, sticky, and independent from rollout to rollout."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from editor_client.shared.arms import (
    BUCKETS,
    MAX_ARMS,
    Arm,
    bucket,
    choose_arm,
    describe_outcome,
    place_arms,
    reweight_arms,
)
from hypothesis import given
from hypothesis import strategies as st

from versioning.domain.errors import Invalid

KEYS = 100_000


def rule(arms: list[Arm], seed: str = "s") -> dict[str, Any]:
    """Return a rule as clients get it."""
    stored = [{"name": one.name, "start": one.start, "weight": one.weight} for one in arms]
    return {"id": "rollout", "seed": seed, "bucketBy": "user", "arms": stored}


def arms_of(weights: list[int]) -> list[Arm]:
    return place_arms([Arm(name=f"arm{n}", version_id="v", weight=one) for n, one in enumerate(weights)])


def chosen(rule: dict[str, Any], key: object) -> str | None:
    found = choose_arm(rule, {"user": key})
    return found["name"] if found else None


@pytest.mark.parametrize(("seed", "key", "number"), [("s", "ada", 7486), ("s", "é", 9492), ("s", "42", 1329)])
def test_the_buckets_match_the_specification(seed: str, key: str, number: int) -> None:
    assert bucket(seed, key) == number


def test_a_hundred_thousand_keys_are_spread_by_the_weights() -> None:
    found = rule(arms_of([500, 2_000, 3_333]))
    counted = Counter(chosen(found, f"user{number}") for number in range(KEYS))
    shares = {"arm0": 0.05, "arm1": 0.2, "arm2": 0.3333, None: 0.4167}
    assert all(abs(counted[name] / KEYS - share) < 0.01 for name, share in shares.items()), counted


def test_two_rollouts_are_independent() -> None:
    first, second = (rule(arms_of([5_000]), seed) for seed in ("first", "second"))
    both = Counter((chosen(first, f"u{n}"), chosen(second, f"u{n}")) for n in range(KEYS))
    assert all(abs(number / KEYS - 0.25) < 0.01 for number in both.values()), both


weights = st.lists(st.integers(0, BUCKETS // MAX_ARMS), min_size=1, max_size=MAX_ARMS)


@given(weights, st.data(), st.text(min_size=1))
def test_widening_moves_no_key_between_arms(before: list[int], data: st.DataObject, key: str) -> None:
    arms = arms_of(before)
    more = [data.draw(st.integers(one, BUCKETS // len(before))) for one in before]
    wider = reweight_arms(arms, [(arm.name, one) for arm, one in zip(arms, more, strict=True)])
    was, is_now = chosen(rule(arms), key), chosen(rule(wider), key)
    assert was is None or was == is_now


def test_texts_and_whole_numbers_are_keys() -> None:
    for key, same in [
        ("ada", "ada"),
        ("e\u0301", "é"),
        (42, "42"),
        (1.0, "1"),
        (-3, "-3"),
        (2**53 - 1, str(2**53 - 1)),
    ]:
        found = rule(arms_of([BUCKETS]))
        assert chosen(found, key) == "arm0"
        halves = rule([*arms_of([5_000, 5_000])])
        assert chosen(halves, key) == chosen(halves, same)


def test_other_values_are_not_keys() -> None:
    for key in [None, "", "  ", True, 1.5, 2**53, -(2**53), [], {}, ["ada"], {"id": "ada"}]:
        found = rule(arms_of([BUCKETS]))
        assert chosen(found, key) is None
        assert describe_outcome(found, {"user": key}) == {"id": "rollout", "arm": None, "reason": "noKey"}


def test_a_path_enters_objects_only() -> None:
    found = {**rule(arms_of([BUCKETS])), "bucketBy": "user.id"}
    assert choose_arm(found, {"user": {"id": "ada"}}) is not None
    assert (
        choose_arm(found, {"user": ["ada"]})
        is choose_arm(found, {"user": "ada"})
        is choose_arm(found, {})
        is None
    )


@pytest.mark.parametrize("number", [0, MAX_ARMS + 1])
def test_a_rollout_has_one_to_twenty_arms(number: int) -> None:
    with pytest.raises(Invalid):
        arms_of([0] * number)
