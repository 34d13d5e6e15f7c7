"""The changes within a JSON value, member by member and item by item. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import regex
from editor_client.shared import canonical

from studio.diff.alignment import common_runs, gaps
from studio.diff.spans import Op
from studio.limits import PageBudget
from versioning.domain.text_search import IN_WORDS

_WORDS: Final = regex.compile(rf"[{IN_WORDS}_]+")
_ALIKE: Final = 0.5
"""The share of words that two items must have in common to count as one changed or moved item."""


@dataclass(frozen=True, kw_only=True)
class JsonChange:
    """A value within a JSON value that was added, removed, moved or changed."""

    path: tuple[str, ...]
    """The keys that lead to it; for list items the position, from 1."""
    op: Op
    before: Any = None
    after: Any = None
    came_from: int | None = None
    """For a change within a list item that also moved: its position before, from 1."""


def json_changes(before: Any, after: Any, budget: PageBudget, path: tuple[str, ...] = ()) -> list[JsonChange]:
    """Return the changes between two JSON values, in the order of the keys and items.

    Each is charged to the budget; changes beyond it are left out and counted.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return _changed_members(before, after, budget, path)
    if isinstance(before, list) and isinstance(after, list):
        return _changed_items(before, after, budget, path)
    if canonical.same(before, after):
        return []
    return _noted(JsonChange(path=path, op=Op.CHANGED, before=before, after=after), budget)


def _noted(change: JsonChange, budget: PageBudget) -> list[JsonChange]:
    """Return the change if the budget allows another one."""
    if budget.changes <= 0:
        budget.left_out += 1
        return []
    budget.changes -= 1
    return [change]


def _changed_members(
    before: dict[str, Any], after: dict[str, Any], budget: PageBudget, path: tuple[str, ...]
) -> list[JsonChange]:
    found: list[JsonChange] = []
    for key in dict.fromkeys([*before, *after]):
        place = (*path, key)
        if key not in after:
            found += _noted(JsonChange(path=place, op=Op.REMOVED, before=before[key]), budget)
        elif key not in before:
            found += _noted(JsonChange(path=place, op=Op.ADDED, after=after[key]), budget)
        else:
            found += json_changes(before[key], after[key], budget, place)
    return found


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A change of an item of a list."""

    place: int
    """Where a page shows it."""
    op: Op
    before: int
    """The positions before and after; equal if it has only one."""
    after: int
    is_displaced: bool = False
    """For a changed item: whether it really moved, not only relative to its neighbours."""


def _changed_items(
    before: list[Any], after: list[Any], budget: PageBudget, path: tuple[str, ...]
) -> list[JsonChange]:
    """Return the changes of a list; equal items are matched at any position."""
    items = _compared_items(before, after, budget)
    changed: list[JsonChange] = []
    for number, item in enumerate(items):
        if budget.changes <= 0:
            budget.left_out += len(items) - number
            break
        inside, op = (*path, str(item.place + 1)), item.op
        old, new = before[item.before : item.before + 1], after[item.after : item.after + 1]
        if op is Op.CHANGED:
            found = json_changes(old[0], new[0], budget, inside)
            came_from = item.before + 1 if item.is_displaced else None
            changed += [replace(change, came_from=came_from) for change in found] if came_from else found
        elif op is Op.MOVED:
            changed += _noted(JsonChange(path=inside, op=op, before=item.before + 1, after=new[0]), budget)
        elif op is Op.REMOVED:
            changed += _noted(JsonChange(path=inside, op=op, before=old[0]), budget)
        else:
            changed += _noted(JsonChange(path=inside, op=op, after=new[0]), budget)
    return changed


def _compared_items(before: list[Any], after: list[Any], budget: PageBudget) -> list[_Item]:
    """Return the changes of items that are not equal, in the order in which a page shows them."""
    old, new = [canonical.comparable(item) for item in before], [canonical.comparable(item) for item in after]
    between = list(gaps(common_runs(old, new, budget), len(old), len(new)))
    gone = {i for places, _ in between for i in places}
    come = {j for _, places in between for j in places}
    found = [_Item(place=j, op=Op.MOVED, before=i, after=j) for i, j in _moves(old, new, gone, come)]
    similar = _similar(before, after, gone, come, budget)
    pairs = [*similar, *(pair for gap in between for pair in _alike(before, after, gap, gone, come))]
    # The budget limits the similar ones; all others are in one gap.
    displaced = _overtaking(pairs) | {
        (i, j) for i, j in similar if not any(i in gap and j in filled for gap, filled in between)
    }
    found += [
        _Item(place=j, op=Op.CHANGED, before=i, after=j, is_displaced=(i, j) in displaced) for i, j in pairs
    ]
    found += [_Item(place=i, op=Op.REMOVED, before=i, after=i) for i in gone]
    found += [_Item(place=j, op=Op.ADDED, before=j, after=j) for j in come]
    return sorted(found, key=lambda item: item.place)


def _overtaking(pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs of positions whose relative order was reversed."""
    found, furthest = set(), -1
    for i, j in sorted(pairs):
        if j < furthest:
            found.add((i, j))
        furthest = max(furthest, j)
    return found


def _moves(old: list[str], new: list[str], gone: set[int], come: set[int]) -> list[tuple[int, int]]:
    """Return the pairs of equal items at different positions; removes both from the sets."""
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
    """Return the pairs of items of which one was changed into the other; removes both from the sets."""
    pairs = []
    for i, j in zip([i for i in gap[0] if i in gone], [j for j in gap[1] if j in come], strict=False):
        if _type(before[i]) == _type(after[j]):
            pairs.append((i, j))
            gone.discard(i)
            come.discard(j)
    return pairs


def _similar(
    before: list[Any], after: list[Any], gone: set[int], come: set[int], budget: PageBudget
) -> list[tuple[int, int]]:
    """Return the pairs of items whose texts have the most words in common; removes both from the sets."""
    old, new = ({i: _words(items[i]) for i in places} for items, places in ((before, gone), (after, come)))
    pairs = []
    for j in sorted(place for place in come if new[place]):
        candidates = [i for i in gone if old[i] and _type(before[i]) == _type(after[j])]
        if not budget.spend(len(gone) + len(candidates) * len(new[j])):
            break
        scores = [(_likeness(old[i], new[j]), -i) for i in candidates]
        likeness, place = max(scores, default=(0.0, 0))
        if likeness >= _ALIKE:
            pairs.append((-place, j))
            gone.discard(-place)
    come -= {j for _, j in pairs}
    return pairs


def _words(item: Any) -> frozenset[str]:
    text = item.get("content") if isinstance(item, dict) else None
    return frozenset(_WORDS.findall(text)) if isinstance(text, str) else frozenset()


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _type(item: Any) -> tuple[str, Any]:
    """Return a key that two items must share to count as one changed item."""
    return type(item).__name__, item.get("type") if isinstance(item, dict) else None
