"""Slices of lists where a few items (override files, commits) are not in the database."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet


def merged_slice(
    rows: QuerySet[Any], unstored: Sequence[Any], order: Sequence[str], start: int, stop: int
) -> list[Any]:
    """Return a slice of the rows in this order, with the few unstored items merged in.

    Takes one query, of no more rows than the slice can contain.
    """
    # Unstored items can precede the slice, so its rows begin at most that much earlier.
    first = max(0, start - len(unstored))
    items = list(rows.order_by(*order)[first:stop])
    if unstored:
        items += unstored
        for field in reversed(order):
            items.sort(key=attrgetter(field.removeprefix("-")), reverse=field.startswith("-"))
    return items[start - first : stop - first]
