"""What changed between two versions, in a form that people can read. Pure.

Text is compared by line, and what changed within lines by word; JSON by its members and items.
Nothing is lost on the way: from the spans of a text both versions can be put together again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Any, Final

from studio.alignment import common_runs
from versioning import canonical


class Fate(StrEnum):
    """What became of a piece."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    """Of a row or a value: some of it."""
    MOVED = "moved"
    """Of an item of a list: it stands elsewhere."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text that was kept, removed or added."""

    fate: Fate
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the text that shows both versions at once."""

    spans: tuple[Span, ...]
    ends: Fate | None
    """What became of its line break; None at the end of the text."""
    before: int | None
    """The number of its line in the version before, and after; None where it has none."""
    after: int | None
    shows_break: bool = False
    """Whether the line break came or went and nothing else tells so: a line was joined, or split."""

    @property
    def fates(self) -> set[Fate]:
        """What became of its pieces; of an empty line, of its line break."""
        return {span.fate for span in self.spans} or {self.ends or Fate.KEPT}

    @property
    def fate(self) -> Fate:
        """What became of the line as a whole."""
        return next(iter(self.fates)) if len(self.fates) == 1 and not self.shows_break else Fate.CHANGED


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that stand together; folded ones did not change and are far from what did."""

    rows: tuple[Row, ...]
    folded: bool

    @property
    def text(self) -> str:
        """The text of rows that did not change."""
        return "\n".join("".join(span.text for span in row.spans) for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A value inside of a JSON value that came, went, moved or became another one."""

    path: tuple[str, ...]
    """The keys that lead to it; an item of a list by its place, from 1."""
    fate: Fate
    before: Any = None
    after: Any = None


_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
# A number, a single character of a script that puts no spaces between words, a word, a gap, or a sign.
_WORDS: Final = re.compile(
    r"\d+(?:[.,:]\d+)+|[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|\n|[^\S\n]+|[^\w\s]"
)
MOST_BY_WORD: Final = 1_000_000
"""How many characters are compared by word at most; more than that are shown as replaced altogether."""
_LEAST_KEPT: Final = 0.3
"""The part of the shorter text that must stay for a comparison by word to be worth reading."""


def spans(before: str, after: str) -> list[Span]:
    """Return the pieces of both texts in reading order; of a replaced piece the old one comes first.

    Without the added pieces they make up `before`, without the removed ones `after`.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    found: list[Span] = []
    for fate, gone, come in _pieces(old, new):
        if fate is Fate.KEPT:
            found.append(Span(Fate.KEPT, gone))
        else:
            found.extend(_by_word(gone, come))
    return _on_whole_lines(_merged(found))


def rows(pieces: Sequence[Span]) -> list[Row]:
    """Return the lines that the pieces make, numbered in both versions."""
    found: list[Row] = []
    line: list[Span] = []
    before = after = 1
    for piece in pieces:
        *ended, rest = piece.text.split("\n")
        for text in ended:
            found.append(_row([*line, Span(piece.fate, text)], piece.fate, before, after))
            line = []
            before += piece.fate is not Fate.ADDED
            after += piece.fate is not Fate.REMOVED
        line.append(Span(piece.fate, rest))
    if any(piece.text for piece in line):
        found.append(_row(line, None, before, after))
    return [
        replace(row, shows_break=True) if _shows_break(row, following) else row
        for row, following in zip_longest(found, found[1:])
    ]


def sections(lines: Sequence[Row], *, context: int = 2) -> list[Section]:
    """Return the lines in sections: what changed, with some lines around it, and the rest folded."""
    changed = [place for place, row in enumerate(lines) if row.fate is not Fate.KEPT]
    shown = {
        near
        for place in changed
        for near in range(max(0, place - context), min(len(lines), place + context + 1))
    }
    found: list[Section] = []
    start = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or (place in shown) != (start in shown):
            found.append(Section(tuple(lines[start:place]), folded=start not in shown))
            start = place
    # A line by itself takes no more room than the remark that it is folded.
    return [replace(section, folded=section.folded and len(section.rows) > 1) for section in found]


def changes(before: Any, after: Any, path: tuple[str, ...] = ()) -> list[Change]:
    """Return what is different inside of two JSON values, in the order of the keys and items."""
    if canonical.same(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _changed_members(before, after, path)
    if isinstance(before, list) and isinstance(after, list):
        return _changed_items(before, after, path)
    return [Change(path=path, fate=Fate.CHANGED, before=before, after=after)]


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Fate, str, str]]:
    """Yield what is kept, and between it what goes and what comes in its place."""
    i = j = 0
    for run in [*common_runs(old, new), None]:
        i_end, j_end = (run.before, run.after) if run else (len(old), len(new))
        if i < i_end or j < j_end:
            yield Fate.CHANGED, "".join(old[i:i_end]), "".join(new[j:j_end])
        if run:
            i, j = i_end + run.length, j_end + run.length
            kept = "".join(old[i_end:i])
            yield Fate.KEPT, kept, kept


def _by_word(before: str, after: str) -> list[Span]:
    """Return the pieces of two texts by word, or as a whole where hardly a word is kept."""
    as_a_whole = [Span(Fate.REMOVED, before), Span(Fate.ADDED, after)]
    if len(before) + len(after) > MOST_BY_WORD:
        return as_a_whole
    found = []
    kept_length = 0
    for fate, gone, come in _pieces(_WORDS.findall(before), _WORDS.findall(after)):
        # A gap between two changed words is not worth keeping: "the cat" became "a dog" in one step.
        if fate is Fate.KEPT and (not gone.isspace() or "\n" in gone):
            found.append(Span(Fate.KEPT, gone))
            kept_length += len(gone.strip())
        else:
            found += [Span(Fate.REMOVED, gone), Span(Fate.ADDED, come)]
    if kept_length < _LEAST_KEPT * min(len(before.strip()), len(after.strip())):
        return as_a_whole
    return found


def _merged(pieces: Sequence[Span]) -> list[Span]:
    """Return the pieces with neighbours of the same fate joined, the removed before the added."""
    found: list[Span] = []
    for _, together in groupby(
        (piece for piece in pieces if piece.text), lambda piece: piece.fate is Fate.KEPT
    ):
        texts = {Fate.KEPT: "", Fate.REMOVED: "", Fate.ADDED: ""}
        for piece in together:
            texts[piece.fate] += piece.text
        found += [Span(fate, text) for fate, text in texts.items() if text]
    return found


def _on_whole_lines(pieces: list[Span]) -> list[Span]:
    """Return the pieces with an insertion or removal of lines beginning where a line begins.

    Between "a." and "a.", line break, "b." the difference may as well be the line break and "b." as
    the full stop, the line break and "b": people expect the first.
    """
    found = list(pieces)
    for place in range(1, len(found) - 1):
        around, piece = (found[place - 1], found[place + 1]), found[place]
        head = piece.text[: piece.text.find("\n") + 1]
        is_between = piece.fate is not Fate.KEPT and {one.fate for one in around} == {Fate.KEPT}
        if is_between and not around[0].text.endswith("\n") and head and around[1].text.startswith(head):
            found[place - 1] = Span(Fate.KEPT, around[0].text + head)
            found[place] = Span(piece.fate, piece.text[len(head) :] + head)
            found[place + 1] = Span(Fate.KEPT, around[1].text[len(head) :])
    return _merged(found)


def _shows_break(row: Row, following: Row | None) -> bool:
    # Where a whole line follows that came or went too, the line break is the one before it.
    is_told = following is not None and following.fates == {row.ends}
    return row.ends in {Fate.REMOVED, Fate.ADDED} and row.fates != {row.ends} and not is_told


def _row(line: list[Span], ends: Fate | None, before: int, after: int) -> Row:
    pieces = tuple(piece for piece in line if piece.text)
    fates = {piece.fate for piece in pieces} or {ends or Fate.KEPT}
    return Row(
        pieces,
        ends,
        before=None if fates == {Fate.ADDED} else before,
        after=None if fates == {Fate.REMOVED} else after,
    )


def _changed_members(before: dict[str, Any], after: dict[str, Any], path: tuple[str, ...]) -> list[Change]:
    found: list[Change] = []
    for key in dict.fromkeys([*before, *after]):
        place = (*path, key)
        if key not in after:
            found.append(Change(path=place, fate=Fate.REMOVED, before=before[key]))
        elif key not in before:
            found.append(Change(path=place, fate=Fate.ADDED, after=after[key]))
        else:
            found += changes(before[key], after[key], place)
    return found


def _changed_items(before: list[Any], after: list[Any], path: tuple[str, ...]) -> list[Change]:
    """Return the changes of a list: items that are equal are found again wherever they stand."""
    old, new = [canonical.comparable(item) for item in before], [canonical.comparable(item) for item in after]
    gone, come = set(range(len(old))), set(range(len(new)))
    found: list[tuple[int, list[Change]]] = []
    gaps: list[tuple[range, range]] = []
    i = j = 0
    for run in [*common_runs(old, new), None]:
        i_end, j_end = (run.before, run.after) if run else (len(old), len(new))
        gaps.append((range(i, i_end), range(j, j_end)))
        if run:
            i, j = i_end + run.length, j_end + run.length
            gone -= set(range(i_end, i))
            come -= set(range(j_end, j))
    for i, j in _moves(old, new, gone, come):
        moved = Change(path=(*path, str(j + 1)), fate=Fate.MOVED, before=i + 1, after=after[j])
        found.append((j, [moved]))
    for i, j in [pair for gap in gaps for pair in _alike(before, after, gap, gone, come)]:
        found.append((j, changes(before[i], after[j], (*path, str(j + 1)))))
    found += [(i, [Change(path=(*path, str(i + 1)), fate=Fate.REMOVED, before=before[i])]) for i in gone]
    found += [(j, [Change(path=(*path, str(j + 1)), fate=Fate.ADDED, after=after[j])]) for j in come]
    return [change for _, some in sorted(found, key=lambda entry: entry[0]) for change in some]


def _moves(old: list[str], new: list[str], gone: set[int], come: set[int]) -> list[tuple[int, int]]:
    """Return the pairs of equal items that stand elsewhere, and take them out of the two sets."""
    places: dict[str, list[int]] = {}
    for j in sorted(come, reverse=True):
        places.setdefault(new[j], []).append(j)
    pairs = [(i, places[old[i]].pop()) for i in sorted(gone) if places.get(old[i])]
    gone -= {i for i, _ in pairs}
    come -= {j for _, j in pairs}
    return pairs


def _alike(
    before: list[Any], after: list[Any], gap: tuple[range, range], gone: set[int], come: set[int]
) -> list[tuple[int, int]]:
    """Return the pairs of items of which one became the other, and take them out of the two sets."""
    pairs = []
    for i, j in zip([i for i in gap[0] if i in gone], [j for j in gap[1] if j in come], strict=False):
        if _sort(before[i]) == _sort(after[j]):
            pairs.append((i, j))
            gone.discard(i)
            come.discard(j)
    return pairs


def _sort(item: Any) -> tuple[str, Any]:
    """Return what two items must share for one to be the other, changed."""
    return type(item).__name__, item.get("type") if isinstance(item, dict) else None
