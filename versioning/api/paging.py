"""Pages of a list.

Django REST framework's pagination counts pages from 1, has no empty page, and handles one queryset. Here
pages count from 0, `perPage=0` asks for the total only, and a list can contain items that are not rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from versioning.api.parameters import MAX_PER_PAGE, Direction
from versioning.domain.errors import Invalid
from versioning.models.merging import merged_slice

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, kw_only=True)
class PageOfItems:
    """A page of a list, with the members of the schema `PageOf`."""

    items: Sequence[Any]
    total: int
    page: int
    per_page: int
    has_more: bool


@dataclass(frozen=True, kw_only=True)
class Page:
    """The requested part of a list, and its order."""

    number: int
    size: int
    order: tuple[str, ...]

    @classmethod
    def read(
        cls,
        given: QueryDict,
        *,
        size: int,
        fields: Mapping[str, str],
        then: str,
        direction: Direction = "DESC",
    ) -> Page:
        """Return the requested page; `fields` maps the values of `orderBy` to columns.

        The first of them is the default, in this direction. `then` is the column that orders equal rows.
        """
        field = given.get("orderBy[field]", next(iter(fields)))
        sign = "" if given.get("orderBy[direction]", direction) == "ASC" else "-"
        number = _number(given, "page", 0)
        size = _number(given, "perPage", size)
        if size > MAX_PER_PAGE:
            raise Invalid.field("perPage", f"must not be larger than {MAX_PER_PAGE}")
        return cls(number=number, size=size, order=(f"{sign}{fields[field]}", then))

    @property
    def slice(self) -> slice:
        """The rows of the page, as a slice."""
        return slice(self.number * self.size, (self.number + 1) * self.size)

    def ordered_by(self, *fields: str) -> Page:
        """Return the same page of a list in another order, in the requested direction."""
        sign = "-" if self.order[0].startswith("-") else ""
        return replace(self, order=tuple(f"{sign}{field}" for field in fields))

    def of(
        self,
        rows: QuerySet[Any],
        view: Callable[[list[Any]], Sequence[Any]],
        *,
        unstored: Sequence[Any] = (),
    ) -> PageOfItems:
        """Return the page of a list; two queries, and those of `view`, which prepares the items.

        `unstored` are the few items that are not rows; they are merged into the order.
        """
        total = rows.count() + len(unstored)
        start, stop = self.slice.start, self.slice.stop
        wanted = self.size and start < total
        items = merged_slice(rows, unstored, self.order, start, stop) if wanted else []
        return PageOfItems(
            items=view(items),
            total=total,
            page=self.number,
            per_page=self.size,
            has_more=bool(items) and start + len(items) < total,
        )


def _number(given: QueryDict, name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise Invalid.field(name, "must be a whole number from 0 on")
    return int(text)
