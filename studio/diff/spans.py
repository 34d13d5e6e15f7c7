"""Two texts combined: the unchanged, removed and added pieces, by line and then by word. Pure.

No text is lost: both texts can be restored from the spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Final

import regex

from studio.diff.alignment import common_runs, gaps
from studio.limits import PageBudget
from versioning.domain.text_search import IN_WORDS, UNSEPARATED


class Op(StrEnum):
    """The change of a piece of text, a line or a value."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    """For a line or a value: something inside it."""
    MOVED = "moved"
    """For an item of a list: it has another position."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text that was unchanged, removed or added."""

    op: Op
    text: str


_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
# A number, a line break, one character of a script without spaces between words, a word, a gap, or a sign.
# All are made of whole characters as people see them (`\X`), so that marks stay with their letters.
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
    found: list[Span] = []
    for op, removed, added in _pieces(old, new, budget):
        if op is Op.SAME:
            found.append(Span(Op.SAME, removed))
        else:
            found.extend(_by_word(removed, added, budget))
    return _on_whole_lines(_merged(found))


def moved(before: str, after: str, position: int) -> int:
    """Return where a position of a text is in another text; of what was removed, where it would be."""
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
    """Yield the unchanged pieces, and between them the removed and the added ones."""
    runs = common_runs(old, new, budget)
    for run, (gone, come) in zip_longest(runs, gaps(runs, len(old), len(new))):
        if gone or come:
            yield Op.CHANGED, "".join(old[i] for i in gone), "".join(new[j] for j in come)
        if run:
            same = "".join(old[run.before : run.before + run.length])
            yield Op.SAME, same, same


def _by_word(before: str, after: str, budget: PageBudget) -> list[Span]:
    """Return the pieces of two texts by word, or as a whole if hardly any word is unchanged."""
    as_a_whole = [Span(Op.REMOVED, before), Span(Op.ADDED, after)]
    if len(before) + len(after) > MAX_BY_WORD:
        return as_a_whole
    found = []
    common_length = 0
    for op, removed, added in _pieces(words_of(before), words_of(after), budget):
        # A gap between two changed words counts as changed: "the cat" became "a dog" in one step.
        if op is Op.SAME and (not removed.isspace() or "\n" in removed):
            found.append(Span(Op.SAME, removed))
            common_length += len(removed.strip())
        else:
            found += [Span(Op.REMOVED, removed), Span(Op.ADDED, added)]
    if common_length < _LEAST_COMMON * min(len(before.strip()), len(after.strip())):
        return as_a_whole
    return found


def words_of(text: str) -> list[str]:
    """Return the words, gaps and signs of a text, which together are the text."""
    pattern = _PLAIN_WORDS if text.isascii() else _WORDS
    found: list[str] = pattern.findall(text)
    return found


def _merged(pieces: Sequence[Span]) -> list[Span]:
    """Return the pieces with adjacent ones of the same op merged, the removed before the added."""
    found: list[Span] = []
    for _, together in groupby((piece for piece in pieces if piece.text), lambda piece: piece.op is Op.SAME):
        texts = {Op.SAME: "", Op.REMOVED: "", Op.ADDED: ""}
        for piece in together:
            texts[piece.op] += piece.text
        found += [Span(op, text) for op, text in texts.items() if text]
    return found


def _on_whole_lines(pieces: list[Span]) -> list[Span]:
    """Return the pieces with insertions and removals of lines starting at the start of a line.

    Between "a." and "a.", line break, "b." the difference may be the line break and "b.", or the full stop,
    the line break and "b"; readers expect the former.
    """
    found = list(pieces)
    for place in range(1, len(found) - 1):
        around, piece = (found[place - 1], found[place + 1]), found[place]
        head = piece.text[: piece.text.find("\n") + 1]
        is_between = piece.op is not Op.SAME and {one.op for one in around} == {Op.SAME}
        if is_between and not around[0].text.endswith("\n") and head and around[1].text.startswith(head):
            found[place - 1] = Span(Op.SAME, around[0].text + head)
            found[place] = Span(piece.op, piece.text[len(head) :] + head)
            found[place + 1] = Span(Op.SAME, around[1].text[len(head) :])
    return _merged(found)
