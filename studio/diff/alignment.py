"""Find the common parts of two sequences. Pure.

Items, or short series of items, that occur once in each sequence are used as anchors first ("patience diff"),
which is cheap and gives the expected result. Between the anchors, the shortest edit is searched, unless it
takes more than `MAX_EDITS`. All this work is charged to the budget of the page; parts that still differ when
it is spent count as replaced.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from studio.limits import PageBudget

MAX_EDITS: Final = 200
SERIES: Final = (1, 3, 8)
"""The maximum length of an anchor; where words repeat, only a series of several is unique."""
SMALL: Final = 100
"""Up to this many items, the shortest edit is searched at once, without longer anchors."""


class Run(NamedTuple):
    """Equal items: `length` of them, from these two positions on."""

    before: int
    after: int
    length: int


@dataclass(frozen=True, slots=True)
class _Region:
    """A part of each sequence that is not aligned yet."""

    before: int
    before_end: int
    after: int
    after_end: int

    @property
    def size(self) -> int:
        return self.before_end - self.before + self.after_end - self.after

    @property
    def empty(self) -> bool:
        return self.before == self.before_end or self.after == self.after_end


def common_runs(before: Sequence[str], after: Sequence[str], budget: PageBudget) -> list[Run]:
    """Return the runs of items that both sequences have, in order and without overlap.

    The work is charged to the budget; once it is spent, only the common beginning and end are found.
    """
    runs: list[Run] = []
    pending = [_Region(0, len(before), 0, len(after))]
    while pending:
        region = _without_common_ends(before, after, pending.pop(), runs)
        if region.empty:
            continue
        anchors = _anchors(before, after, region, budget)
        if anchors:
            runs.extend(Run(i, j, 1) for i, j in anchors)
            pending.extend(_between(anchors, region))
        else:
            runs.extend(_shortest_edit(before, after, region, budget))
    return _joined(sorted(runs))


def gaps(runs: Sequence[Run], before: int, after: int) -> Iterator[tuple[range, range]]:
    """Yield the parts between the runs, in both sequences; the arguments are their lengths."""
    i = j = 0
    for run in [*runs, Run(before, after, 0)]:
        yield range(i, run.before), range(j, run.after)
        i, j = run.before + run.length, run.after + run.length


def _without_common_ends(
    before: Sequence[str], after: Sequence[str], region: _Region, runs: list[Run]
) -> _Region:
    """Return the region without its common beginning and end, which are added to the runs."""
    i, i_end, j, j_end = region.before, region.before_end, region.after, region.after_end
    while i < i_end and j < j_end and before[i] == after[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    runs.append(Run(region.before, region.after, i - region.before))
    runs.append(Run(i_end, j_end, region.before_end - i_end))
    return _Region(i, i_end, j, j_end)


def _sides(
    before: Sequence[str], after: Sequence[str], region: _Region
) -> tuple[Sequence[str], Sequence[str]]:
    """Return both sides of a region."""
    return before[region.before : region.before_end], after[region.after : region.after_end]


def _anchors(
    before: Sequence[str], after: Sequence[str], region: _Region, budget: PageBudget
) -> list[tuple[int, int]]:
    """Return the longest sequence of pairs of items that occur once in either part."""
    old, new = _sides(before, after, region)
    if not budget.spend(region.size) or set(old).isdisjoint(new):
        return []
    for length in SERIES if len(old) > SMALL or len(new) > SMALL else SERIES[:1]:
        if not budget.spend(region.size):
            return []
        old_places, new_places = _once(old, length), _once(new, length)
        found = _longest_rising(
            [(place, new_places[series]) for series, place in old_places.items() if series in new_places]
        )
        if found:
            return [(region.before + i, region.after + j) for i, j in found]
    return []


def _once(items: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """Return the positions of the series of this length that occur once, in order."""
    series = list(zip(*(items[start:] for start in range(length)), strict=False))
    counts = Counter(series)
    return {one: place for place, one in enumerate(series) if counts[one] == 1}


def _longest_rising(candidates: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of the pairs, sorted by the first member, in which the second rises, too."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, place) in enumerate(candidates):
        length = bisect_left(tails, place)
        tails[length : length + 1] = [place]
        ends[length : length + 1] = [index]
        previous.append(ends[length - 1] if length else -1)
    rising = []
    index = ends[-1] if ends else -1
    while index >= 0:
        rising.append(candidates[index])
        index = previous[index]
    return rising[::-1]


def _between(anchors: list[tuple[int, int]], region: _Region) -> list[_Region]:
    starts = [(region.before, region.after), *((i + 1, j + 1) for i, j in anchors)]
    ends = [*anchors, (region.before_end, region.after_end)]
    return [_Region(i, i_end, j, j_end) for (i, j), (i_end, j_end) in zip(starts, ends, strict=True)]


def _shortest_edit(
    before: Sequence[str], after: Sequence[str], region: _Region, budget: PageBudget
) -> list[Run]:
    """Return what the shortest edit keeps; nothing if it takes more than `MAX_EDITS`."""
    old, new = _sides(before, after, region)
    # The library compares 64 items at once, and keeps eight bytes for them.
    if not budget.spend(region.size + len(old) * len(new) // 128) or set(old).isdisjoint(new):
        return []
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  12 MiB, only for comparisons

    least = max(1, (region.size - MAX_EDITS + 1) // 2)
    if LCSseq.similarity(old, new, score_cutoff=least) < least:
        return []
    return [
        Run(region.before + kept.src_start, region.after + kept.dest_start, kept.src_end - kept.src_start)
        for kept in LCSseq.opcodes(old, new)
        if kept.tag == "equal"
    ]


def _joined(runs: list[Run]) -> list[Run]:
    """Return the runs with adjacent ones merged, and without empty ones."""
    found: list[Run] = []
    for run in runs:
        last = found[-1] if found else None
        if last and (run.before, run.after) == (last.before + last.length, last.after + last.length):
            found[-1] = Run(last.before, last.after, last.length + run.length)
        elif run.length:
            found.append(run)
    return found
