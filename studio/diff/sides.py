"""The lines of a difference side by side, the version before on the left. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from studio.diff.lines import Row
from studio.diff.spans import Op, Span


@dataclass(frozen=True, slots=True)
class Cell:
    """A line of one of the two versions."""

    number: int
    spans: tuple[Span, ...]
    """Its pieces: the common ones, and those only in this version."""
    shows_break: bool = False
    """Whether to mark its line break, which the other version does not have here."""
    is_broken_otherwise: bool = False
    """Whether the line next to it has other pieces, because a line break was added or removed."""

    @property
    def text(self) -> str:
        """The whole line."""
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

    def add(self, row: Row) -> None:
        """Add this version's part of a row of the combined text."""
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
        """Return the ended lines, and remove them."""
        ended, self.ended = self.ended, []
        return ended


def side_by_side(rows: Iterable[Row], before: int = 1, after: int = 1) -> Iterator[Pair]:
    """Yield the lines of consecutive rows as pairs, numbered in both versions from these numbers on.

    Lines that end in the same place are paired. The lines between two such pairs are paired from the
    beginning, and the longer side continues alone.
    """
    left, right = _Side(Op.REMOVED, before), _Side(Op.ADDED, after)
    for row in rows:
        left.add(row)
        right.add(row)
        if row.ends is Op.SAME:
            yield from _paired(left.taken(), right.taken())
    left.end()
    right.end()
    yield from _paired(left.taken(), right.taken())


def _paired(before: list[Cell], after: list[Cell]) -> Iterator[Pair]:
    together = []
    if before and after and not {Op.REMOVED, Op.ADDED} & {before[-1].op, after[-1].op}:
        together = [_pair(before.pop(), after.pop())]
    for left, right in zip_longest(before, after):
        yield _pair(left, right)
    yield from together


def _pair(before: Cell | None, after: Cell | None) -> Pair:
    if before and after and before.op is after.op is Op.SAME and before.text != after.text:
        before, after = (replace(cell, is_broken_otherwise=True) for cell in (before, after))
    return Pair(before, after)
