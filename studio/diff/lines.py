"""The spans of a text as numbered lines, with unchanged parts folded. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from studio.diff.spans import Op, Span
from studio.limits import PageBudget

_MARKS: Final = 12
"""The marks around a piece count as this many characters."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the text that combines both versions."""

    spans: tuple[Span, ...]
    ends: Op | None
    """The change of its line break; None at the end of the text."""
    before: int | None
    """The number of its line in the version before, and after; None if it has none."""
    after: int | None
    shows_break: bool = False
    """Whether to mark the line break, because no other mark shows that a line was joined or split."""

    @property
    def ops(self) -> set[Op]:
        """The changes of its pieces; for an empty line, of its line break."""
        return {span.op for span in self.spans} or {self.ends or Op.SAME}

    @property
    def op(self) -> Op:
        """The change of the line as a whole."""
        return next(iter(self.ops)) if len(self.ops) == 1 and not self.shows_break else Op.CHANGED


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive lines; folded ones are unchanged and far from any change."""

    rows: tuple[Row, ...] = ()
    """The lines, unless they are folded."""
    folded: int = 0
    """How many lines are folded."""
    text: str = ""
    """The text of folded lines; empty if it is too long for the page."""
    before: int = 1
    """The number of the first line in the version before, and after."""
    after: int = 1


def rows(pieces: Sequence[Span], before: int = 1, after: int = 1) -> Iterator[Row]:
    """Yield the lines of the pieces, numbered in both versions from these numbers on."""
    last: Row | None = None
    for row in _rows(pieces, before, after):
        if last is not None:
            yield replace(last, shows_break=True) if _shows_break(last, row) else last
        last = row
    if last is not None:
        yield replace(last, shows_break=True) if _shows_break(last, None) else last


def sections(pieces: Sequence[Span], budget: PageBudget, *, context: int = 2) -> list[Section]:
    """Return the lines in sections: changes with some lines around them, and the rest folded.

    Lines are charged to the budget; those beyond it are left out and counted.
    """
    found: list[Section] = []
    before = after = 1
    for part in _folded(pieces, context):
        if budget.is_spent:
            budget.left_out += _changed_places(part)
        elif isinstance(part, str):
            # Unchanged lines must not use up the budget of changed ones.
            is_short = len(part) <= budget.characters // 10
            text = budget.take(part) if is_short else ""
            found.append(Section(folded=_count_lines(part), text=text, before=before, after=after))
            budget.lines -= 1
        else:
            shown = tuple(_affordable(part, budget, before, after))
            found.append(Section(rows=shown, before=before, after=after))
        for piece in [Span(Op.SAME, part)] if isinstance(part, str) else part:
            breaks = piece.text.count("\n")
            before += breaks * (piece.op is not Op.ADDED)
            after += breaks * (piece.op is not Op.REMOVED)
    return found


def _folded(pieces: Sequence[Span], context: int) -> Iterator[list[Span] | str]:
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
        if any(one.text for one in near):
            yield near
        yield middle
        near = [Span(Op.SAME, piece.text[end:])]
    if any(one.text for one in near):
        yield near


def _after_lines(text: str, count: int) -> int:
    """Return where the line after the first few begins, or the end of the text."""
    place = 0
    for _ in range(count):
        place = text.find("\n", place) + 1
        if not place:
            return len(text)
    return place


def _before_lines(text: str, count: int) -> int:
    """Return where the last few whole lines begin."""
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


def _affordable(part: list[Span], budget: PageBudget, before: int, after: int) -> list[Row]:
    """Return the lines of the pieces within the budget; the last one may be cut."""
    found: list[Row] = []
    is_cut = False
    for row in rows(part, before, after):
        if is_cut or budget.is_spent:
            shown = [piece for one in found for piece in one.spans]
            budget.left_out += max(_changed_places(part) - _changed_places(shown), not is_cut)
            break
        budget.lines -= 1
        pieces = [Span(piece.op, budget.take(piece.text)) for piece in row.spans]
        budget.characters -= _MARKS * len(pieces)
        is_cut = sum(len(piece.text) for piece in pieces) < sum(len(piece.text) for piece in row.spans)
        budget.left_out += is_cut
        found.append(replace(row, spans=tuple(piece for piece in pieces if piece.text)) if is_cut else row)
    return found


def _rows(pieces: Sequence[Span], before: int, after: int) -> Iterator[Row]:
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


def _shows_break(row: Row, following: Row | None) -> bool:
    # If a whole changed line follows, the line break is the one before it.
    is_shown = following is not None and following.ops == {row.ends}
    return row.ends in {Op.REMOVED, Op.ADDED} and row.ops != {row.ends} and not is_shown


def _row(line: list[Span], ends: Op | None, before: int, after: int) -> Row:
    pieces = tuple(piece for piece in line if piece.text)
    ops = {piece.op for piece in pieces} or {ends or Op.SAME}
    return Row(
        pieces,
        ends,
        before=None if ops == {Op.ADDED} else before,
        after=None if ops == {Op.REMOVED} else after,
    )
