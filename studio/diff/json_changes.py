"""The changes within a JSON value, member by member and item by item. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from editor_client.shared import canonical

from studio.diff.alignment import common_runs, gaps
from studio.diff.spans import Op
from studio.limits import PageBudget


@dataclass(frozen=True, kw_only=True)
class JsonChange:
    """A value within a JSON value that was added, removed, moved or changed."""

    path: tuple[str, ...]
    """The keys that lead to it; an item of a list by its place, from 1."""
    op: Op
    before: Any = None
    after: Any = None


def json_changes(before: Any, after: Any, budget: PageBudget, path: tuple[str, ...] = ()) -> list[JsonChange]:
    """Return the changes between two JSON values, in the order of the keys and items.

    Each is charged to the budget; those that exceed it are left out and counted.
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


def _changed_items(
    before: list[Any], after: list[Any], budget: PageBudget, path: tuple[str, ...]
) -> list[JsonChange]:
    """Return the changes of a list; equal items are found again wherever they are."""
    items = _compared_items(before, after, budget)
    changed: list[JsonChange] = []
    for number, (place, op, i, j) in enumerate(items):
        if budget.changes <= 0:
            budget.left_out += len(items) - number
            break
        inside = (*path, str(place + 1))
        if op is Op.CHANGED:
            changed += json_changes(before[i], after[j], budget, inside)
        elif op is Op.MOVED:
            changed += _noted(JsonChange(path=inside, op=op, before=i + 1, after=after[j]), budget)
        elif op is Op.REMOVED:
            changed += _noted(JsonChange(path=inside, op=op, before=before[i]), budget)
        else:
            changed += _noted(JsonChange(path=inside, op=op, after=after[j]), budget)
    return changed


def _compared_items(
    before: list[Any], after: list[Any], budget: PageBudget
) -> list[tuple[int, Op, int, int]]:
    """Return the changes of items that are not equal, in the order in which a page shows them.

    Each as (the position where it is shown, the change, its position before, its position after).
    """
    old, new = [canonical.comparable(item) for item in before], [canonical.comparable(item) for item in after]
    between = list(gaps(common_runs(old, new, budget), len(old), len(new)))
    gone = {i for places, _ in between for i in places}
    come = {j for _, places in between for j in places}
    found = [(j, Op.MOVED, i, j) for i, j in _moves(old, new, gone, come)]
    found += [(j, Op.CHANGED, i, j) for gap in between for i, j in _alike(before, after, gap, gone, come)]
    found += [(i, Op.REMOVED, i, i) for i in gone]
    found += [(j, Op.ADDED, j, j) for j in come]
    return sorted(found, key=lambda item: item[0])


def _moves(old: list[str], new: list[str], gone: set[int], come: set[int]) -> list[tuple[int, int]]:
    """Return the pairs of equal items at other positions; both are removed from the sets."""
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
    """Return the pairs of items where one was changed into the other; both are removed from the sets."""
    pairs = []
    for i, j in zip([i for i in gap[0] if i in gone], [j for j in gap[1] if j in come], strict=False):
        if _type(before[i]) == _type(after[j]):
            pairs.append((i, j))
            gone.discard(i)
            come.discard(j)
    return pairs


def _type(item: Any) -> tuple[str, Any]:
    """Return what two items must have in common to count as one changed item."""
    return type(item).__name__, item.get("type") if isinstance(item, dict) else None
