"""What changed between two versions, in a form that people can read. Pure.

Text is compared by line, and what changed within lines by word; JSON by its members and items.
Nothing is lost on the way: from the spans of a text both versions can be put together again. Of what is
too large for a page, what is left out is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from editor_client.shared import canonical

from studio.diff.alignment import common_runs
from studio.limits import Room


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
    """Lines that stand together; folded ones did not change and are far from what did."""

    rows: tuple[Row, ...] = ()
    """The lines, unless they are folded."""
    folded: int = 0
    """How many lines are folded."""
    text: str = ""
    """The text of folded lines; empty where the page has no room for it."""


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
_MARKS: Final = 12
"""How many characters the marks around a piece count as."""
_LEAST_KEPT: Final = 0.3
"""The part of the shorter text that must stay for a comparison by word to be worth reading."""


def spans(before: str, after: str, room: Room) -> list[Span]:
    """Return the pieces of both texts in reading order; of a replaced piece the old one comes first.

    Without the added pieces they make up `before`, without the removed ones `after`.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    found: list[Span] = []
    for fate, gone, come in _pieces(old, new, room):
        if fate is Fate.KEPT:
            found.append(Span(Fate.KEPT, gone))
        else:
            found.extend(_by_word(gone, come, room))
    return _on_whole_lines(_merged(found))


def rows(pieces: Sequence[Span], before: int = 1, after: int = 1) -> Iterator[Row]:
    """Yield the lines that the pieces make, numbered in both versions from these numbers on."""
    last: Row | None = None
    for row in _rows(pieces, before, after):
        if last is not None:
            yield replace(last, shows_break=True) if _shows_break(last, row) else last
        last = row
    if last is not None:
        yield replace(last, shows_break=True) if _shows_break(last, None) else last


def sections(pieces: Sequence[Span], room: Room, *, context: int = 2) -> list[Section]:
    """Return the lines in sections: what changed, with some lines around it, and the rest folded.

    They are taken from the room; what finds none is left out, and counted there.
    """
    found: list[Section] = []
    before = after = 1
    for part in _folded(pieces, context):
        if room.is_full:
            room.left_out += _changed_places(part)
        elif isinstance(part, str):
            # What did not change must not take the room of what did.
            fits = len(part) <= room.characters // 10
            found.append(Section(folded=_count_lines(part), text=room.fitting(part) if fits else ""))
            room.lines -= 1
        else:
            found.append(Section(rows=tuple(_fitting(part, room, before, after))))
        for piece in [Span(Fate.KEPT, part)] if isinstance(part, str) else part:
            breaks = piece.text.count("\n")
            before += breaks * (piece.fate is not Fate.ADDED)
            after += breaks * (piece.fate is not Fate.REMOVED)
    return found


def changes(before: Any, after: Any, room: Room, path: tuple[str, ...] = ()) -> list[Change]:
    """Return what is different inside of two JSON values, in the order of the keys and items.

    Each is taken from the room; those that find none are left out, and counted there.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return _changed_members(before, after, room, path)
    if isinstance(before, list) and isinstance(after, list):
        return _changed_items(before, after, room, path)
    if canonical.same(before, after):
        return []
    return _noted(Change(path=path, fate=Fate.CHANGED, before=before, after=after), room)


def _noted(change: Change, room: Room) -> list[Change]:
    """Return the change, if there is room for it."""
    if room.changes <= 0:
        room.left_out += 1
        return []
    room.changes -= 1
    return [change]


def _pieces(old: Sequence[str], new: Sequence[str], room: Room) -> Iterator[tuple[Fate, str, str]]:
    """Yield what is kept, and between it what goes and what comes in its place."""
    i = j = 0
    for run in [*common_runs(old, new, room), None]:
        i_end, j_end = (run.before, run.after) if run else (len(old), len(new))
        if i < i_end or j < j_end:
            yield Fate.CHANGED, "".join(old[i:i_end]), "".join(new[j:j_end])
        if run:
            i, j = i_end + run.length, j_end + run.length
            kept = "".join(old[i_end:i])
            yield Fate.KEPT, kept, kept


def _by_word(before: str, after: str, room: Room) -> list[Span]:
    """Return the pieces of two texts by word, or as a whole where hardly a word is kept."""
    as_a_whole = [Span(Fate.REMOVED, before), Span(Fate.ADDED, after)]
    if len(before) + len(after) > MOST_BY_WORD:
        return as_a_whole
    found = []
    kept_length = 0
    for fate, gone, come in _pieces(_WORDS.findall(before), _WORDS.findall(after), room):
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


def _folded(pieces: Sequence[Span], context: int) -> Iterator[list[Span] | str]:
    """Yield the pieces that stand near a change, and between them the text of whole lines that do not."""
    near: list[Span] = []
    for place, piece in enumerate(pieces):
        first, last = place == 0, place == len(pieces) - 1
        start, end = 0, len(piece.text)
        if piece.fate is Fate.KEPT and not first:
            # The line in which the change ends counts as changed.
            start = _after_lines(piece.text, context + (not pieces[place - 1].text.endswith("\n")))
        if piece.fate is Fate.KEPT and not last:
            end = _before_lines(piece.text, context)
        middle = piece.text[start:end] if piece.fate is Fate.KEPT else ""
        # A line by itself takes no more room than the remark that it is folded.
        if _count_lines(middle) <= 1:
            near.append(piece)
            continue
        near.append(Span(Fate.KEPT, piece.text[:start]))
        if any(one.text for one in near):
            yield near
        yield middle
        near = [Span(Fate.KEPT, piece.text[end:])]
    if any(one.text for one in near):
        yield near


def _after_lines(text: str, count: int) -> int:
    """Return where the line after the first few begins; the end of the text when there is none."""
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
    return sum(fate is False for fate, _ in groupby(part, lambda piece: piece.fate is Fate.KEPT))


def _fitting(part: list[Span], room: Room, before: int, after: int) -> list[Row]:
    """Return the lines that the pieces make, as far as there is room for them; the last one may be cut."""
    found: list[Row] = []
    is_cut = False
    for row in rows(part, before, after):
        if is_cut or room.is_full:
            told = [piece for shown in found for piece in shown.spans]
            room.left_out += max(_changed_places(part) - _changed_places(told), not is_cut)
            break
        room.lines -= 1
        pieces = [Span(piece.fate, room.fitting(piece.text)) for piece in row.spans]
        room.characters -= _MARKS * len(pieces)
        is_cut = sum(len(piece.text) for piece in pieces) < sum(len(piece.text) for piece in row.spans)
        room.left_out += is_cut
        found.append(replace(row, spans=tuple(piece for piece in pieces if piece.text)) if is_cut else row)
    return found


def _rows(pieces: Sequence[Span], before: int, after: int) -> Iterator[Row]:
    line: list[Span] = []
    for piece in pieces:
        *ended, rest = piece.text.split("\n")
        for text in ended:
            yield _row([*line, Span(piece.fate, text)], piece.fate, before, after)
            line = []
            before += piece.fate is not Fate.ADDED
            after += piece.fate is not Fate.REMOVED
        line.append(Span(piece.fate, rest))
    if any(piece.text for piece in line):
        yield _row(line, None, before, after)


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


def _changed_members(
    before: dict[str, Any], after: dict[str, Any], room: Room, path: tuple[str, ...]
) -> list[Change]:
    found: list[Change] = []
    for key in dict.fromkeys([*before, *after]):
        place = (*path, key)
        if key not in after:
            found += _noted(Change(path=place, fate=Fate.REMOVED, before=before[key]), room)
        elif key not in before:
            found += _noted(Change(path=place, fate=Fate.ADDED, after=after[key]), room)
        else:
            found += changes(before[key], after[key], room, place)
    return found


def _changed_items(before: list[Any], after: list[Any], room: Room, path: tuple[str, ...]) -> list[Change]:
    """Return the changes of a list: items that are equal are found again wherever they stand."""
    old, new = [canonical.comparable(item) for item in before], [canonical.comparable(item) for item in after]
    gone, come = set(range(len(old))), set(range(len(new)))
    # Where it is told, what became of the item, and its places before and after.
    found: list[tuple[int, Fate, int, int]] = []
    gaps: list[tuple[range, range]] = []
    i = j = 0
    for run in [*common_runs(old, new, room), None]:
        i_end, j_end = (run.before, run.after) if run else (len(old), len(new))
        gaps.append((range(i, i_end), range(j, j_end)))
        if run:
            i, j = i_end + run.length, j_end + run.length
            gone -= set(range(i_end, i))
            come -= set(range(j_end, j))
    found += [(j, Fate.MOVED, i, j) for i, j in _moves(old, new, gone, come)]
    found += [(j, Fate.CHANGED, i, j) for gap in gaps for i, j in _alike(before, after, gap, gone, come)]
    found += [(i, Fate.REMOVED, i, i) for i in gone]
    found += [(j, Fate.ADDED, j, j) for j in come]
    found.sort(key=lambda entry: entry[0])
    told: list[Change] = []
    for number, (place, fate, i, j) in enumerate(found):
        if room.changes <= 0:
            room.left_out += len(found) - number
            break
        inside = (*path, str(place + 1))
        if fate is Fate.CHANGED:
            told += changes(before[i], after[j], room, inside)
        elif fate is Fate.MOVED:
            told += _noted(Change(path=inside, fate=fate, before=i + 1, after=after[j]), room)
        else:
            is_gone = fate is Fate.REMOVED
            sides = {"before": before[i]} if is_gone else {"after": after[j]}
            told += _noted(Change(path=inside, fate=fate, **sides), room)
    return told


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
