"""Find the common parts of two sequences. Pure.

Items, or short series of items, that occur once in each sequence are used as anchors first ("patience diff"),
which is cheap and gives the expected result. Between the anchors, the shortest edit is searched, unless it
takes more than `MAX_EDITS`. All this work is charged to the budget of the page; parts that still differ when
it is spent count as replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Final, NamedTuple

import regex

from studio.limits import PageBudget
from versioning.domain.text_search import IN_WORDS, UNSEPARATED

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
            starts = [(region.before, region.after), *((i + 1, j + 1) for i, j in anchors)]
            ends = [*anchors, (region.before_end, region.after_end)]
            pending.extend(_Region(i, k, j, n) for (i, j), (k, n) in zip(starts, ends, strict=True))
        else:
            runs.extend(_shortest_edit(before, after, region, budget))
    return _join_runs(sorted(runs))


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
        anchors = _longest_rising(
            [(place, new_places[series]) for series, place in old_places.items() if series in new_places]
        )
        if anchors:
            return [(region.before + i, region.after + j) for i, j in anchors]
    return []


def _once(items: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """Return the positions of the series of this length that occur once, in order."""
    series = list(zip(*(items[start:] for start in range(length)), strict=False))
    counts = Counter(series)
    return {item: place for place, item in enumerate(series) if counts[item] == 1}


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


def _shortest_edit(
    before: Sequence[str], after: Sequence[str], region: _Region, budget: PageBudget
) -> list[Run]:
    """Return the items that the shortest edit keeps; nothing if it takes more than `MAX_EDITS`."""
    old, new = _sides(before, after, region)
    # The library compares 64 items at once, and keeps eight bytes for them.
    if not budget.spend(region.size + len(old) * len(new) // 128) or set(old).isdisjoint(new):
        return []
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  12 MiB, only for comparisons

    least = max(1, (region.size - MAX_EDITS + 1) // 2)
    if LCSseq.similarity(old, new, score_cutoff=least) < least:
        return []
    return [
        Run(region.before + block.src_start, region.after + block.dest_start, block.src_end - block.src_start)
        for block in LCSseq.opcodes(old, new)
        if block.tag == "equal"
    ]


def _join_runs(runs: list[Run]) -> list[Run]:
    """Return the runs with adjacent ones merged, and without empty ones."""
    joined: list[Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and (run.before, run.after) == (last.before + last.length, last.after + last.length):
            joined[-1] = Run(last.before, last.after, last.length + run.length)
        elif run.length:
            joined.append(run)
    return joined


class Op(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    """For a line or a value: something inside it."""
    MOVED = "moved"
    """For an item of a list: it has another position."""


@dataclass(frozen=True, slots=True)
class Span:
    op: Op
    text: str


_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
# A number, a line break, one character of a script without spaces between words, a word, a gap, or a sign.
# All consist of whole visible characters (`\X`), so that marks stay with their letters.
_WORDS: Final = regex.compile(
    rf"\d+(?:[.,:]\d+)+(?!\p{{M}})|\n"
    rf"|(?=[{UNSEPARATED}])\X|(?:(?=[[{IN_WORDS}_]--[{UNSEPARATED}]])\X)+|(?:(?=[^\S\n])\X)+|\X",
    flags=regex.VERSION1,
)
_PLAIN_WORDS: Final = re.compile(r"\d+(?:[.,:]\d+)+|\w+|\r?\n|(?:[^\S\r\n]|\r(?!\n))+|[^\w\s]")
MAX_BY_WORD: Final = 1_000_000
"""Longer texts are not compared by word, but shown as replaced as a whole."""
_LEAST_COMMON: Final = 0.3
"""The share of the shorter text that must be unchanged for a useful comparison by word."""


def spans(before: str, after: str, budget: PageBudget) -> list[Span]:
    """Return the pieces of both texts in reading order; the old text precedes its replacement.

    Without the added pieces they give `before`, without the removed ones `after`.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    pieces: list[Span] = []
    for op, removed, added in _pieces(old, new, budget):
        if op is Op.SAME:
            pieces.append(Span(Op.SAME, removed))
        else:
            pieces.extend(_by_word(removed, added, budget))
    return _on_whole_lines(_merge_pieces(pieces))


def map_position(before: str, after: str, position: int) -> int:
    """Map a position of a text to another text; a removed position maps to its place there."""
    old = new = 0
    for span in spans(before, after, PageBudget()):
        if span.op is Op.SAME and position < old + len(span.text):
            return new + position - old
        if span.op is Op.REMOVED and position < old + len(span.text):
            return new
        old += len(span.text) * (span.op is not Op.ADDED)
        new += len(span.text) * (span.op is not Op.REMOVED)
    return new


def _pieces(old: Sequence[str], new: Sequence[str], budget: PageBudget) -> Iterator[tuple[Op, str, str]]:
    runs = common_runs(old, new, budget)
    for run, (removed, added) in zip_longest(runs, gaps(runs, len(old), len(new))):
        if removed or added:
            yield Op.CHANGED, "".join(old[i] for i in removed), "".join(new[j] for j in added)
        if run:
            common_text = "".join(old[run.before : run.before + run.length])
            yield Op.SAME, common_text, common_text


def _by_word(before: str, after: str, budget: PageBudget) -> list[Span]:
    """Return the pieces of two texts by word, or as a whole if hardly any word is unchanged."""
    as_a_whole = [Span(Op.REMOVED, before), Span(Op.ADDED, after)]
    if len(before) + len(after) > MAX_BY_WORD:
        return as_a_whole
    pieces = []
    common_length = 0
    for op, removed, added in _pieces(words_of(before), words_of(after), budget):
        # A gap between two changed words counts as changed: "the cat" became "a dog" in one step.
        if op is Op.SAME and (not removed.isspace() or "\n" in removed):
            pieces.append(Span(Op.SAME, removed))
            common_length += len(removed.strip())
        else:
            pieces += [Span(Op.REMOVED, removed), Span(Op.ADDED, added)]
    if common_length < _LEAST_COMMON * min(len(before.strip()), len(after.strip())):
        return as_a_whole
    return pieces


def words_of(text: str) -> list[str]:
    """Return the words, gaps and signs of a text, which together are the text."""
    pattern = _PLAIN_WORDS if text.isascii() else _WORDS
    words: list[str] = pattern.findall(text)
    return words


def _merge_pieces(pieces: Sequence[Span]) -> list[Span]:
    """Return the pieces with adjacent ones of the same op merged, the removed before the added."""
    merged: list[Span] = []
    for _, adjacent in groupby((piece for piece in pieces if piece.text), lambda piece: piece.op is Op.SAME):
        texts = {Op.SAME: "", Op.REMOVED: "", Op.ADDED: ""}
        for piece in adjacent:
            texts[piece.op] += piece.text
        merged += [Span(op, text) for op, text in texts.items() if text]
    return merged


def _on_whole_lines(pieces: list[Span]) -> list[Span]:
    """Return the pieces with insertions and removals of lines starting at the start of a line.

    Between "a." and "a.", line break, "b." the difference may be the line break and "b.", or the full stop,
    the line break and "b"; readers expect the former.
    """
    shifted = list(pieces)
    for place in range(1, len(shifted) - 1):
        around, piece = (shifted[place - 1], shifted[place + 1]), shifted[place]
        head = piece.text[: piece.text.find("\n") + 1]
        is_between = piece.op is not Op.SAME and {span.op for span in around} == {Op.SAME}
        if is_between and not around[0].text.endswith("\n") and head and around[1].text.startswith(head):
            shifted[place - 1] = Span(Op.SAME, around[0].text + head)
            shifted[place] = Span(piece.op, piece.text[len(head) :] + head)
            shifted[place + 1] = Span(Op.SAME, around[1].text[len(head) :])
    return _merge_pieces(shifted)


_MARKS: Final = 12
"""The marks around a piece count as this many characters."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    spans: tuple[Span, ...]
    ends: Op | None
    """The change of its line break; None at the end of the text."""
    before: int | None
    """The number of its line in the version before, and after; None if it has none."""
    after: int | None
    shows_break: bool = False
    """Whether to mark the line break because no other mark shows that a line was joined or split."""

    @property
    def ops(self) -> set[Op]:
        """The changes of its pieces; for an empty line, of its line break."""
        return {span.op for span in self.spans} or {self.ends or Op.SAME}

    @property
    def op(self) -> Op:
        return next(iter(self.ops)) if len(self.ops) == 1 and not self.shows_break else Op.CHANGED


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive lines; folded ones are unchanged and far from any change."""

    rows: tuple[DiffRow, ...] = ()
    """The lines, unless they are folded."""
    folded: int = 0
    text: str = ""
    """The text of folded lines; empty if it is too long for the page."""
    before: int = 1
    """The number of the first line in the version before, and after."""
    after: int = 1


def rows(pieces: Sequence[Span], before: int = 1, after: int = 1) -> Iterator[DiffRow]:
    last: DiffRow | None = None
    for row in _rows(pieces, before, after):
        if last is not None:
            yield replace(last, shows_break=True) if _shows_break(last, row) else last
        last = row
    if last is not None:
        yield replace(last, shows_break=True) if _shows_break(last, None) else last


def sections(pieces: Sequence[Span], budget: PageBudget, *, context: int = 2) -> list[Section]:
    """Return the lines in sections: changes with some lines around them, and the rest folded.

    Lines are charged to the budget; those beyond it are omitted and counted.
    """
    sections: list[Section] = []
    before = after = 1
    for part in _fold(pieces, context):
        if budget.is_spent:
            budget.left_out += _changed_places(part)
        elif isinstance(part, str):
            # Unchanged lines must not use up the budget of changed ones.
            is_short = len(part) <= budget.characters // 10
            text = budget.take(part) if is_short else ""
            sections.append(Section(folded=_count_lines(part), text=text, before=before, after=after))
            budget.lines -= 1
        else:
            rows = tuple(_affordable(part, budget, before, after))
            sections.append(Section(rows=rows, before=before, after=after))
        for piece in [Span(Op.SAME, part)] if isinstance(part, str) else part:
            breaks = piece.text.count("\n")
            before += breaks * (piece.op is not Op.ADDED)
            after += breaks * (piece.op is not Op.REMOVED)
    return sections


def _fold(pieces: Sequence[Span], context: int) -> Iterator[list[Span] | str]:
    """Yield the pieces near a change and, between them, the text of whole unchanged lines."""
    near: list[Span] = []
    for place, piece in enumerate(pieces):
        first, last = place == 0, place == len(pieces) - 1
        start, end = 0, len(piece.text)
        if piece.op is Op.SAME and not first:
            # The line in which the change ends counts as changed.
            start = _after_lines(piece.text, context + (not pieces[place - 1].text.endswith("\n")))
        if piece.op is Op.SAME and not last:
            end = _before_lines(piece.text, context)
        middle = piece.text[start:end] if piece.op is Op.SAME else ""
        # A single line is no longer than the note about folding it.
        if _count_lines(middle) <= 1:
            near.append(piece)
            continue
        near.append(Span(Op.SAME, piece.text[:start]))
        if any(section.text for section in near):
            yield near
        yield middle
        near = [Span(Op.SAME, piece.text[end:])]
    if any(section.text for section in near):
        yield near


def _after_lines(text: str, count: int) -> int:
    """Return the start of the line after the first few, or the end of the text."""
    place = 0
    for _ in range(count):
        place = text.find("\n", place) + 1
        if not place:
            return len(text)
    return place


def _before_lines(text: str, count: int) -> int:
    place = len(text)
    for _ in range(count + 1):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _changed_places(part: list[Span] | str) -> int:
    if isinstance(part, str):
        return 0
    return sum(op is False for op, _ in groupby(part, lambda piece: piece.op is Op.SAME))


def _affordable(part: list[Span], budget: PageBudget, before: int, after: int) -> list[DiffRow]:
    """Return the lines of the pieces within the budget; the last one may be cut."""
    fitting_rows: list[DiffRow] = []
    is_cut = False
    for row in rows(part, before, after):
        if is_cut or budget.is_spent:
            spans = [piece for section in fitting_rows for piece in section.spans]
            budget.left_out += max(_changed_places(part) - _changed_places(spans), not is_cut)
            break
        budget.lines -= 1
        pieces = [Span(piece.op, budget.take(piece.text)) for piece in row.spans]
        budget.characters -= _MARKS * len(pieces)
        is_cut = sum(len(piece.text) for piece in pieces) < sum(len(piece.text) for piece in row.spans)
        budget.left_out += is_cut
        fitting_rows.append(
            replace(row, spans=tuple(piece for piece in pieces if piece.text)) if is_cut else row
        )
    return fitting_rows


def _rows(pieces: Sequence[Span], before: int, after: int) -> Iterator[DiffRow]:
    line: list[Span] = []
    for piece in pieces:
        *ended, rest = piece.text.split("\n")
        for text in ended:
            yield _row([*line, Span(piece.op, text)], piece.op, before, after)
            line = []
            before += piece.op is not Op.ADDED
            after += piece.op is not Op.REMOVED
        line.append(Span(piece.op, rest))
    if any(piece.text for piece in line):
        yield _row(line, None, before, after)


def _shows_break(row: DiffRow, following: DiffRow | None) -> bool:
    # If a whole changed line follows, the line break is the one before it.
    is_shown = following is not None and following.ops == {row.ends}
    return row.ends in {Op.REMOVED, Op.ADDED} and row.ops != {row.ends} and not is_shown


def _row(line: list[Span], ends: Op | None, before: int, after: int) -> DiffRow:
    pieces = tuple(piece for piece in line if piece.text)
    ops = {piece.op for piece in pieces} or {ends or Op.SAME}
    return DiffRow(
        pieces,
        ends,
        before=None if ops == {Op.ADDED} else before,
        after=None if ops == {Op.REMOVED} else after,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    number: int
    spans: tuple[Span, ...]
    """Its pieces: the common ones, and those only in this version."""
    shows_break: bool = False
    """Whether to mark its line break, which the other version does not have here."""
    is_broken_otherwise: bool = False
    """Whether the line next to it has other pieces, because a line break was added or removed."""

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def op(self) -> Op:
        """The change of the line: `same`, `removed` or `added` as a whole, or `changed` within."""
        ops = {span.op for span in self.spans}
        if self.shows_break or self.is_broken_otherwise or len(ops) > 1:
            return Op.CHANGED
        return ops.pop() if ops else Op.SAME


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines next to each other; None if one version has no such line."""

    before: Cell | None
    after: Cell | None


@dataclass
class _Side:
    """The lines of one version since the last line break that both versions have in the same place."""

    own: Op
    """The change of pieces that only this version has."""
    number: int
    line: list[Span] = field(default_factory=list)
    is_open: bool = False
    ended: list[Cell] = field(default_factory=list)

    def add(self, row: DiffRow) -> None:
        self.line += [span for span in row.spans if span.op in {Op.SAME, self.own}]
        self.is_open = self.is_open or row.ends in {Op.SAME, self.own} or bool(self.line)
        if row.ends in {Op.SAME, self.own}:
            self.end(shows_break=row.shows_break and row.ends is self.own)

    def end(self, *, shows_break: bool = False) -> None:
        """End the line, if one has begun."""
        if self.is_open:
            self.ended.append(Cell(self.number, tuple(self.line), shows_break))
            self.number += 1
            self.line, self.is_open = [], False

    def taken(self) -> list[Cell]:
        ended, self.ended = self.ended, []
        return ended


def side_by_side(rows: Iterable[DiffRow], before: int = 1, after: int = 1) -> Iterator[Pair]:
    """Yield the lines of consecutive rows as pairs, numbered in both versions from these numbers on.

    Lines that end in the same place are paired. The lines between two such pairs are paired from the
    beginning, and the longer side continues alone.
    """
    left, right = _Side(Op.REMOVED, before), _Side(Op.ADDED, after)
    for row in rows:
        left.add(row)
        right.add(row)
        if row.ends is Op.SAME:
            yield from _pair_lines(left.taken(), right.taken())
    left.end()
    right.end()
    yield from _pair_lines(left.taken(), right.taken())


def _pair_lines(before: list[Cell], after: list[Cell]) -> Iterator[Pair]:
    last_pair = []
    if before and after and not {Op.REMOVED, Op.ADDED} & {before[-1].op, after[-1].op}:
        last_pair = [_pair(before.pop(), after.pop())]
    for left, right in zip_longest(before, after):
        yield _pair(left, right)
    yield from last_pair


def _pair(before: Cell | None, after: Cell | None) -> Pair:
    if before and after and before.op is after.op is Op.SAME and before.text != after.text:
        before, after = (replace(cell, is_broken_otherwise=True) for cell in (before, after))
    return Pair(before, after)
