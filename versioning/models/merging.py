"""Slices of lists of which the database holds all but a few items: override files, commits."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet


def merged_slice(
    rows: QuerySet[Any], unstored: Sequence[Any], order: Sequence[str], start: int, stop: int
) -> list[Any]:
    """Return a slice of the rows in this order, with the few items that no row holds in their places.

    One query, of no more rows than the slice could hold.
    """
    # However many of the unstored items come before the slice, it begins at most so many rows earlier.
    first = max(0, start - len(unstored))
    found = list(rows.order_by(*order)[first:stop])
    if unstored:
        found += unstored
        for field in reversed(order):
            found.sort(key=attrgetter(field.removeprefix("-")), reverse=field.startswith("-"))
    return found[start - first : stop - first]
