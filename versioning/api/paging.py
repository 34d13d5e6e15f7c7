"""Which part of a list is asked for, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from versioning.api.parameters import MAX_PER_PAGE
from versioning.domain.errors import Invalid

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, kw_only=True)
class Page:
    """Which part of a list is asked for, in which order."""

    number: int
    size: int
    order: tuple[str, ...]

    @classmethod
    def read(cls, given: QueryDict, *, size: int, fields: Mapping[str, str], then: str) -> Page:
        """Return the page; `fields` maps wire names to columns, the first of them is the default.

        `then` is the column that decides between equals.
        """
        field = given.get("orderBy[field]", next(iter(fields)))
        sign = "" if given.get("orderBy[direction]") == "ASC" else "-"
        number = _number(given, "page", 0)
        size = _number(given, "perPage", size)
        if size > MAX_PER_PAGE:
            raise Invalid.field("perPage", f"must not be larger than {MAX_PER_PAGE}")
        return cls(number=number, size=size, order=(f"{sign}{fields[field]}", then))

    @property
    def slice(self) -> slice:
        """The part of the rows."""
        return slice(self.number * self.size, (self.number + 1) * self.size)

    def ordered_by(self, *fields: str) -> Page:
        """Return the same page of a list in another order, in the direction that was asked for."""
        sign = "-" if self.order[0].startswith("-") else ""
        return replace(self, order=tuple(f"{sign}{field}" for field in fields))

    def answer(
        self,
        key: str,
        rows: QuerySet[Any],
        render: Callable[[list[Any]], list[dict[str, Any]]],
        *,
        beside: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Return the wire form of the page; two queries, and those of `render`.

        `beside` are the few items of the list that no row holds; they take their place in the order.
        """
        total = rows.count() + len(beside)
        first = self.number * self.size
        wanted = self.size and first < total
        items = placed(rows, beside, self.order, first, first + self.size) if wanted else []
        return {
            key: render(items),
            "total": total,
            "page": self.number,
            "perPage": self.size,
            "hasMore": bool(items) and first + len(items) < total,
        }


def placed(
    rows: QuerySet[Any], beside: Sequence[Any], order: Sequence[str], start: int, stop: int
) -> list[Any]:
    """Return a slice of the rows in this order, with the few items that no row holds in their places.

    One query, of no more rows than the slice could hold.
    """
    # However many of those beside come before the slice, it begins at most so many rows earlier.
    first = max(0, start - len(beside))
    found = list(rows.order_by(*order)[first:stop])
    if beside:
        found += beside
        for field in reversed(order):
            found.sort(key=attrgetter(field.removeprefix("-")), reverse=field.startswith("-"))
    return found[start - first : stop - first]


def _number(given: QueryDict, name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise Invalid.field(name, "must be a whole number from 0 on")
    return int(text)
