"""Confidence intervals around counted shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capabilities.rollouts.statistics import Rate


def test_the_interval_is_the_wilson_interval() -> None:
    rate = Rate.of(10, 100)
    assert rate is not None
    assert (round(rate.low, 4), round(rate.high, 4)) == (0.0552, 0.1744)
    assert Rate.of(0, 0) is None


@given(st.integers(1, 10_000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_contains_the_share_within_zero_and_one(counted: tuple[int, int]) -> None:
    rate = Rate.of(*counted)
    assert rate is not None
    assert 0 <= rate.low <= rate.share <= rate.high <= 1


@pytest.mark.parametrize(("count", "total"), [(2, 1), (-1, 1)])
def test_an_impossible_count_is_an_error(count: int, total: int) -> None:
    with pytest.raises(ValueError, match=f"{count} of {total}"):
        Rate.of(count, total)
