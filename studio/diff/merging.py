"""Merging two edits of the same configuration. Pure.

Objects are merged by member, lists by entry, texts by line, changed lines by sentence, and changed sentences
by word: an edit applies if the other one left the value unchanged. If both changed the same value, the result
has ours (for a text the whole sentence) and names the field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from editor_client.shared import canonical

from studio.diff.texts import Run, common_runs, words_of
from studio.limits import PageBudget
from versioning.domain.config import Config

T = TypeVar("T")
_MISSING: Final = object()
_WHOLE: Final = frozenset({"model", "rules"})
"""Members that are merged as a whole: a model must not get one person's provider and another's name."""
_SENTENCES: Final = re.compile("(?s).+?[.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019\xbb)\\]]*\\s+|.+")
"""A sentence with the gap after it."""


@dataclass(frozen=True)
class Clash:
    """A place in a text that both changed, on both sides: whole sentences."""

    ours: str
    theirs: str


@dataclass(frozen=True, kw_only=True)
class Merge:
    config: Config
    overlaps: Sequence[str]
    """The fields that both changed in the same place, in which the result has our value."""
    clashes: Sequence[Clash] = ()


class _Part(NamedTuple):
    """Corresponding parts of three sequences, as positions; `is_common` if all three are aligned."""

    base: range
    ours: range
    theirs: range
    is_common: bool


@dataclass
class _Merging:
    budget: PageBudget
    has_overlap: bool = False
    clashes: list[Clash] = field(default_factory=list)

    def overlap(self, ours: T) -> T:
        self.has_overlap = True
        return ours

    def value(self, base: Any, ours: Any, theirs: Any, *, is_whole: bool = False) -> Any:
        """Return a value with both edits; `_MISSING` means a missing member."""
        if _same(ours, theirs) or _same(base, theirs):
            return ours
        if _same(base, ours):
            return theirs
        match () if is_whole else ({} if base is _MISSING else base, ours, theirs):
            case (dict() as old, dict(), dict()):
                return self._members(old, ours, theirs)
            case (list(), list(), list()):
                return self._sequence(base, ours, theirs, _key, self._pairs)
            case (str(), str(), str()):
                old, own, other = (text.split("\n") for text in (base, ours, theirs))
                return "\n".join(self._sequence(old, own, other, str, self._changed_lines))
        return self.overlap(ours)

    def _members(
        self, base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> dict[str, Any]:
        merged = {}
        for name in {**base, **theirs, **ours}:
            values = (side.get(name, _MISSING) for side in (base, ours, theirs))
            value = self.value(*values, is_whole=name in _WHOLE)
            if value is not _MISSING:
                merged[name] = value
        return merged

    def _pairs(self, base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any]:
        """Merge entries that both changed one by one, if none was added or removed."""
        if not len(base) == len(ours) == len(theirs):
            return self.overlap(ours)
        return [self.value(*three) for three in zip(base, ours, theirs, strict=True)]

    def _changed_lines(self, base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
        if not (base and ours and theirs):  # added or removed as a whole
            return self._clash(ours, theirs, "\n")
        old, own, other = (_SENTENCES.findall("\n".join(side)) for side in (base, ours, theirs))
        return "".join(self._sequence(old, own, other, str, self._changed_sentences)).split("\n")

    def _changed_sentences(self, base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
        """Merge sentences that both changed by word; if both changed the same words, keep ours."""
        merged = self._by_word(*("".join(side) for side in (base, ours, theirs)))
        if merged is not None:
            return [merged]
        if 1 < len(base) == len(ours) == len(theirs):
            by_one = zip(base, ours, theirs, strict=True)
            return [
                "".join(self._sequence([old], [own], [other], str, self._changed_sentences))
                for old, own, other in by_one
            ]
        return self._clash(ours, theirs, "")

    def _by_word(self, base: str, ours: str, theirs: str) -> str | None:
        """Return a text with both edits; None if they changed the same words."""
        merged: list[str] = []
        sides = (_words(base), _words(ours), _words(theirs))
        for part in _parts(*sides, self.budget):
            old, own, other = (
                [side[place] for place in places] for side, places in zip(sides, part[:3], strict=True)
            )
            if old not in (own, other) and own != other:
                return None
            merged += other if old == own else own
        return "".join(merged)

    def _clash(self, ours: list[str], theirs: list[str], between: str) -> list[str]:
        self.clashes.append(Clash(ours=between.join(ours).strip(), theirs=between.join(theirs).strip()))
        return self.overlap(ours)

    def _sequence(
        self,
        base: list[T],
        ours: list[T],
        theirs: list[T],
        key: Callable[[T], str],
        both: Callable[[list[T], list[T], list[T]], list[T]],
    ) -> list[T]:
        """Return a sequence with both edits; `both` merges parts that both changed."""
        old_keys, own_keys, other_keys = ([key(item) for item in side] for side in (base, ours, theirs))
        merged: list[T] = []
        for part in _parts(old_keys, own_keys, other_keys, self.budget):
            old, own, other = (
                [side[place] for place in places]
                for side, places in zip((base, ours, theirs), part[:3], strict=True)
            )
            if part.is_common:
                merged += [self.value(*three) for three in zip(old, own, other, strict=True)]
            elif _same(own, other) or _same(old, other):
                merged += own
            else:
                merged += other if _same(old, own) else both(old, own, other)
        # An item that occurs more often than on either side: both have moved it, or added it in different
        # places. Blank lines do not count.
        sides = [Counter(side) for side in (old_keys, own_keys, other_keys)]
        counts = Counter(name for item in merged if (name := key(item)).strip())
        repeats = any(count > max(side[name] for side in sides) > 0 for name, count in counts.items())
        return self.overlap(ours) if repeats else merged


def merge(base: Config, ours: Config, theirs: Config, budget: PageBudget) -> Merge:
    """Return both edits of a configuration; the work of aligning texts and lists is charged to the budget.

    Once it is spent, edits of the same text or list count as overlapping.
    """
    merged, overlaps = {}, []
    clashes: list[Clash] = []
    for name in {**base, **theirs, **ours}:
        merging = _Merging(budget)
        values = (side.get(name, _MISSING) for side in (base, ours, theirs))
        value = merging.value(*values, is_whole=name in _WHOLE)
        if value is not _MISSING:
            merged[name] = value
        if merging.has_overlap:
            overlaps.append(name)
            clashes += merging.clashes
    return Merge(config=merged, overlaps=overlaps, clashes=clashes)


def _words(text: str) -> list[str]:
    """Return the words and signs of a text, each with the preceding gap."""
    words: list[str] = []
    gap = ""
    for piece in words_of(text):
        if piece.isspace() and piece != "\n":
            gap += piece
        else:
            words.append(gap + piece)
            gap = ""
    return [*words, gap] if gap else words


def _parts(base: list[str], ours: list[str], theirs: list[str], budget: PageBudget) -> Iterator[_Part]:
    """Yield the parts of three sequences in order: those that are common to all, and those between."""
    i = j = k = 0
    runs = _common(common_runs(base, ours, budget), common_runs(base, theirs, budget))
    for start, own, other, length in [*runs, (len(base), len(ours), len(theirs), 0)]:
        between = _Part(range(i, start), range(j, own), range(k, other), is_common=False)
        if any(between[:3]):
            yield between
        i, j, k = start + length, own + length, other + length
        if length:
            yield _Part(range(start, i), range(own, j), range(other, k), is_common=True)


def _common(ours: Sequence[Run], theirs: Sequence[Run]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the intersections of both alignments with the base: three positions and a length."""
    own, other = iter(ours), iter(theirs)
    own_run, other_run = next(own, None), next(other, None)
    while own_run and other_run:
        start = max(own_run.before, other_run.before)
        ends = (own_run.before + own_run.length, other_run.before + other_run.length)
        if start < min(ends):
            yield (
                start,
                start - own_run.before + own_run.after,
                start - other_run.before + other_run.after,
                min(ends) - start,
            )
        if ends[0] <= ends[1]:
            own_run = next(own, None)
        else:
            other_run = next(other, None)


def _key(entry: Any) -> str:
    """Return the identity of a list entry: its id, or the whole entry."""
    if isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
        return canonical.dump({"id": entry["id"]})
    return canonical.dump(entry)


def _same(value: Any, other: Any) -> bool:
    if value is _MISSING or other is _MISSING:
        return value is other
    return canonical.same(value, other)
