"""Intervals of shares, and the statistics of a comparison of two runs over the same items. Pure.

An item is won if it is better here than in the baseline, lost if it is worse, and tied otherwise. Everything
counts items, not attempts: several answers to one question are not several independent questions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from math import exp, fsum, lgamma, log, log1p, sqrt
from random import Random
from statistics import fmean, stdev
from typing import Final

Z: Final = 1.959964
"""For intervals that contain the true value in 95 of 100 cases."""
ALPHA: Final = 0.05
"""A difference counts as found if it would be as large by chance at most this often."""
MIN_PAIRS: Final = 10
"""With fewer pairs there is no verdict."""
MIN_FOR_T: Final = 30
"""With fewer pairs, the mean of graded differences has no interval."""
MAX_ENUMERATED: Final = 20
"""Up to this number of differences, all combinations of their signs are counted; beyond it, they are sampled.
"""
DRAWS: Final = 10_000
_DIGITS: Final = 44
POWER: Final = 0.8
"""A drop is detectable if it would be found this often."""
NOISE: Final = 0.025
"""The share of items that change either way between two runs that are equally good."""
MAX_DROP: Final = 95
"""The largest drop in whole points that `detectable` considers."""


class Verdict(StrEnum):
    """The verdict of a comparison by a scorer. There is no verdict that two versions are equal."""

    TOO_FEW = "tooFew"
    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE_FOUND = "noDifferenceFound"


def verdict(pairs: int, difference: float, p: float) -> Verdict:
    """Return the verdict for the numbers of a comparison."""
    if pairs < MIN_PAIRS:
        return Verdict.TOO_FEW
    if p > ALPHA:
        return Verdict.NO_DIFFERENCE_FOUND
    return Verdict.BETTER if difference > 0 else Verdict.WORSE


def wilson(count: float, total: int) -> tuple[float, float]:
    """Return Wilson's interval of a share, which also holds for rare cases; of a mean of shares as well.

    Raises `ValueError` unless `count` is from 0 to a positive `total`.
    """
    if not 0 <= count <= total or total == 0:
        raise ValueError(f"{count} of {total}")
    share, square = count / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    spread = Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return min(share, max(0.0, middle - spread)), max(share, min(1.0, middle + spread))


def sign_test(wins: int, losses: int) -> float:
    """Return the p value of the exact two-sided sign test; 1 if nothing was won or lost."""
    term, total, differ = 1, 0, wins + losses
    for number in range(min(wins, losses) + 1):
        total += term
        term = term * (differ - number) // (number + 1)
    return min(1.0, 2 * total / (1 << differ))


def interval(wins: int, losses: int, pairs: int) -> tuple[float, float]:
    """Return the interval of the difference between two shares of the same items.

    It is that of Agresti and Min (2005) for paired shares: one more win and one more loss are added.
    """
    a, b = (wins + 1) / (pairs + 2), (losses + 1) / (pairs + 2)
    difference = a - b
    spread = Z * sqrt((a + b - difference * difference) / (pairs + 2))
    return max(-1.0, difference - spread), min(1.0, difference + spread)


def t_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """Return the interval of the mean of differences; None for fewer than `MIN_FOR_T`."""
    pairs = len(differences)
    if pairs < MIN_FOR_T:
        return None
    mean = fmean(differences)
    spread = t_quantile(pairs - 1) * stdev(differences, mean) / sqrt(pairs)
    return mean - spread, mean + spread


def sign_flips(differences: Sequence[float], seed: str) -> float:
    """Return the p value of the sign-flip permutation test of the mean of differences.

    It computes how often their sum would be as far from zero if each could equally have had the other sign.
    `seed` determines the sample if there are too many combinations of signs to count them all. The last
    results are cached, because a gate needs them again when a version is published.
    """
    return _sign_flips(tuple(differences), seed)


@lru_cache(maxsize=16)
def _sign_flips(differences: Sequence[float], seed: str) -> float:
    sizes = [abs(difference) for difference in differences if difference]
    total = fsum(sizes)
    # Sums of the same numbers in another order differ in their last digits.
    extreme = abs(fsum(differences)) - 1e-9 * total
    if len(sizes) <= MAX_ENUMERATED:
        # The share of all combinations of signs whose sum is as extreme, by the sums of both halves.
        half = len(sizes) // 2
        left, right = _signed_sums(sizes[:half]), sorted(_signed_sums(sizes[half:]))
        between = sum(
            bisect_left(right, extreme - difference) - bisect_right(right, -extreme - difference)
            for difference in left
        )
        return 1.0 if extreme <= 0 else 1 - between / (len(left) * len(right))
    extreme_count = sum(1 for positive in _drawn(sizes, seed) if abs(2 * positive - total) >= extreme)
    return (1 + extreme_count) / (DRAWS + 1)


def _signed_sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [total + sign for total in sums for sign in (size, -size)]
    return sums


def _drawn(sizes: Sequence[float], seed: str) -> Iterator[float]:
    """Yield sums of the sizes drawn as positive; each bit of a draw decides on one size.

    Sizes are not added one by one: those that are drawn are counted for each value or, of many values, for
    each binary digit.
    """
    values = sorted(set(sizes))
    if len(values) <= _DIGITS:
        masks = [(value, _mask(size == value for size in sizes)) for value in values]
    else:
        # Sizes are rounded to `_DIGITS` digits of the largest; a sum loses far less than `sign_flips` allows.
        unit = max(sizes) / (1 << _DIGITS)
        numbers = [round(size / unit) for size in sizes]
        masks = [
            (unit * (1 << digit), _mask(number >> digit & 1 for number in numbers))
            for digit in range(_DIGITS + 1)
        ]
    draw = Random(seed).randbytes  # noqa: S311  a simulation, which has to be repeatable
    for _ in range(DRAWS):
        drawn = int.from_bytes(draw((len(sizes) + 7) // 8), "little")
        yield sum([weight * (drawn & mask).bit_count() for weight, mask in masks])


def _mask(bits: Iterable[int]) -> int:
    return int("".join(["1" if bit else "0" for bit in bits])[::-1], 2)


@lru_cache(maxsize=1024)
def t_quantile(degrees: int) -> float:
    """Return the two-sided `ALPHA` quantile of Student's t with this many degrees of freedom."""
    low, high = Z, 13.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        outside = _beta(degrees / (degrees + middle * middle), degrees / 2, 0.5)
        low, high = (middle, high) if outside > ALPHA else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=1024)
def detectable(pairs: int) -> int | None:
    """Return the smallest drop in whole points that this many pairs would detect 4 times in 5.

    An item is lost with the drop and `NOISE`, and won with `NOISE`. None if no drop up to `MAX_DROP` would.
    """
    if pairs < MIN_PAIRS or _power(pairs, MAX_DROP) < POWER:
        return None
    low, high = 0, MAX_DROP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(pairs, middle) >= POWER else (middle, high)
    return high


def _power(pairs: int, drop: int) -> float:
    """Return the probability of the verdict `worse` if this many of 100 items are lost besides the noise."""
    lost, won = drop / 100 + NOISE, NOISE
    changed = min(1.0, lost + won)
    probability, mean, spread = 0.0, pairs * changed, sqrt(pairs * changed * (1 - changed))
    # Beyond this, no number is as probable as the smallest one that counts below.
    first, last = int(mean - 10 * spread) - 30, int(mean + 10 * spread) + 30
    for differ in range(max(first, 1), min(last, pairs) + 1):
        chance = _exactly(differ, pairs, changed)
        if chance > 1e-12:
            probability += chance * _at_least(_significant(differ), differ, lost / (lost + won))
    return probability


@lru_cache(maxsize=16384)
def _significant(differ: int) -> int:
    """Return the smallest significant number of losses among this many items that differ."""
    losses = int(differ / 2 + 0.9 * sqrt(differ))
    while _at_least(losses, differ, 0.5) > ALPHA / 2:
        losses += 1
    return losses


def _exactly(number: int, total: int, share: float) -> float:
    """Return the probability of a number of successes."""
    if share >= 1:
        return float(number == total)
    logarithm = lgamma(total + 1) - lgamma(number + 1) - lgamma(total - number + 1)
    return exp(logarithm + number * log(share) + (total - number) * log1p(-share))


def _at_least(number: int, total: int, share: float) -> float:
    """Return the probability of at least a number of successes."""
    if number <= 0:
        return 1.0
    return 0.0 if number > total else _beta(share, number, total - number + 1)


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction 1 + d1/(1 + d2/(1 + …)), by Lentz's method."""
    value = numerator = 1.0
    denominator = 0.0
    for step in range(1, 100_000):
        m = step // 2
        if step % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + d * denominator)
        numerator = 1 + d / numerator
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value
