"""What the numbers of a comparison are: those of SciPy, or known ones where it has no such function."""

from __future__ import annotations

import time
from math import fsum, inf
from random import Random

import numpy as np
import pytest
from editor_client.shared import statistics
from editor_client.shared.statistics import wilson
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

counts = st.integers(0, 600)
graded = st.integers(-100, 100).map(lambda number: number / 100)


@given(counts, counts)
@example(0, 6)
@example(500, 600)
def test_the_sign_test_is_exact_and_has_two_sides(wins: int, losses: int) -> None:
    p = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1
    assert statistics.sign_test(wins, losses) == pytest.approx(p, abs=1e-9)
    assert statistics.sign_test(losses, wins) == statistics.sign_test(wins, losses)


@pytest.mark.parametrize(
    ("wins", "losses", "pairs", "expected"),
    [
        (9, 2, 50, (0.003734, 0.265496)),
        (0, 0, 20, (-0.125991, 0.125991)),
        (3, 15, 100, (-0.200492, -0.034802)),
        (0, 1, 1, (-1, 0.733536)),
    ],
)
def test_the_interval_of_a_difference_of_shares(
    wins: int, losses: int, pairs: int, expected: tuple[float, float]
) -> None:
    assert statistics.interval(wins, losses, pairs) == pytest.approx(expected, abs=1e-6)


@given(counts, counts)
def test_the_interval_of_a_share(passed: int, failed: int) -> None:
    total = passed + failed + 1
    expected = stats.binomtest(passed, total).proportion_ci(method="wilson")
    assert wilson(passed, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


@pytest.mark.parametrize(
    ("pairs", "drop"), [(9, None), (10, 73), (20, 42), (50, 20), (100, 12), (200, 8), (10_000, 1)]
)
def test_the_drop_that_a_number_of_pairs_would_show(pairs: int, drop: int | None) -> None:
    assert statistics.detectable(pairs) == drop


@given(st.integers(10, 2_000))
def test_no_smaller_drop_would_be_found_four_times_in_five(pairs: int) -> None:
    def found(drop: int) -> float:
        lost, won, differ = drop / 100 + statistics.NOISE, statistics.NOISE, np.arange(pairs + 1)
        significant = stats.binom.isf(statistics.ALPHA / 2, differ, 0.5)
        changed = stats.binom.pmf(differ, pairs, lost + won)
        return float(np.sum(changed * stats.binom.sf(significant, differ, lost / (lost + won))))

    drop = statistics.detectable(pairs)
    assert drop is not None
    assert found(drop) >= statistics.POWER > found(drop - 1)


@given(st.integers(1, 100_000))
@example(1)
def test_the_quantile_of_students_t(degrees: int) -> None:
    assert statistics.t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-8)


@given(st.lists(graded, min_size=30, max_size=90, unique=True))
def test_the_interval_of_a_mean_needs_thirty_pairs(differences: list[float]) -> None:
    mean = np.mean(differences)
    expected = stats.t.interval(0.95, len(differences) - 1, mean, stats.sem(differences))
    assert statistics.t_interval(differences) == pytest.approx(expected, abs=1e-8)
    assert statistics.t_interval(differences[:29]) is None


@given(st.lists(graded, min_size=2, max_size=9))
def test_sign_flips_count_all_combinations_of_few_differences(differences: list[float]) -> None:
    test = stats.permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=inf)
    assert statistics.sign_flips(differences, "") == pytest.approx(test.pvalue)


def test_sign_flips_count_all_combinations_of_up_to_twenty_differences() -> None:
    differences = [-0.27, -0.26, 0.28, -0.61, 0.04, -0.6, 0.41, 0.14, 0.49, -0.07, 0.2, -0.01]
    assert statistics.sign_flips(differences, "") == pytest.approx(0.84423828125)
    assert statistics.sign_flips([*differences, 0, 0], "") == pytest.approx(0.84423828125)
    assert statistics.sign_flips([0.1] * 20, "") == pytest.approx(2 / 2**20)
    assert statistics.sign_flips([0.0] * 12, "") == statistics.sign_flips([], "") == 1


def test_equal_sums_of_floats_count_as_equally_extreme() -> None:
    # 0.1 + 0.2 is not 0.3, so half of the combinations that are as extreme would be lost.
    assert statistics.sign_flips([0.1, 0.2, -0.3], "") == 1
    assert statistics.sign_flips([0.1, 0.1, 0.1, 0.3, -0.1 - 0.2], "") == 0.625


def test_sign_flips_of_more_differences_are_drawn_repeatably() -> None:
    differences = [round(0.1 * ((7 * number) % 11 - 4), 1) for number in range(33)]
    first = statistics.sign_flips(differences, "one")
    assert first == statistics.sign_flips(differences, "one") != statistics.sign_flips(differences, "other")
    assert first == pytest.approx(0.093367, abs=0.015)
    assert statistics.sign_flips([0.1] * 40, "one") == pytest.approx(1 / 10_001)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=20), st.floats(0.01, 100))
def test_the_p_value_of_sign_flips_does_not_depend_on_the_scale(signs: list[int], scale: float) -> None:
    scaled = [one * scale for one in signs]
    assert statistics.sign_flips(scaled, "") == pytest.approx(statistics.sign_flips([*map(float, signs)], ""))


@pytest.mark.parametrize(
    ("pairs", "difference", "p", "expected"),
    [
        (9, -1.0, 0.001, "tooFew"),
        (10, -0.6, 0.03125, "worse"),
        (10, 0.6, 0.05, "better"),
        (10, 0.6, 0.0501, "noDifferenceFound"),
        (0, 0.0, 1.0, "tooFew"),
    ],
)
def test_a_verdict_needs_ten_pairs_and_never_says_equal(
    pairs: int, difference: float, p: float, expected: str
) -> None:
    assert statistics.verdict(pairs, difference, p) == expected


def test_the_drawn_signs_are_those_of_adding_up_one_by_one_and_cheap() -> None:
    numbers = Random(7)
    for sizes in (
        [1.0] * 24,
        [1 / 3, 2 / 3, 1.0] * 8,
        [numbers.uniform(0.01, 1) for _ in range(64)],
        [1e6, *(numbers.uniform(0.01, 1) for _ in range(25))],
    ):
        differences = [one if numbers.random() < 0.6 else -one for one in sizes]
        total, drawn, found = fsum(sizes), Random("seed"), 0
        for _ in range(statistics.DRAWS):
            bits = int.from_bytes(drawn.randbytes((len(sizes) + 7) // 8), "little")
            positive = fsum(size for place, size in enumerate(sizes) if bits >> place & 1)
            found += abs(2 * positive - total) >= abs(fsum(differences)) - 1e-9 * total
        assert statistics.sign_flips(differences, "seed") == (1 + found) / (statistics.DRAWS + 1)
    many = [numbers.choice([1, 0.5, 0, -0.5, -1]) for _ in range(10_000)]
    began = time.thread_time()
    statistics.sign_flips(many, "seed")
    assert time.thread_time() - began < 0.5  # seconds; one by one it took 1.5
