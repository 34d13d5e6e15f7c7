"""Pages of a list.

Django REST framework's pagination counts pages from 1, has no empty page, and handles one queryset. Here
pages count from 0, `perPage=0` asks for the total only, a list can contain items that are not rows, and no
page is longer than `MAX_BYTES`: a version may hold a megabyte, and a page a thousand of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final, TypeVar

from django.db.models import Expression, QuerySet
from django.http import QueryDict

from versioning.api.parameters import MAX_PER_PAGE, Direction
from versioning.domain.errors import Invalid, Issue
from versioning.models.merging import merged_slice

MAX_BYTES: Final = 16 * 2**20
"""The maximum size of a page in bytes, unless it holds a single item."""
Default = TypeVar("Default", int, None)
View = Callable[[list[Any]], Sequence[Any]]
"""Prepares the rows of a page."""
_FEW: Final = 4
"""Up to so many rows are read without measuring them first; the answer is measured anyway."""
_NUMBER = re.compile(r"[0-9]{1,9}")


class PageTooLarge(Invalid):
    """A page would be longer than `MAX_BYTES`; the error contains how many items fit."""

    def __init__(self, parameter: str, fits: int) -> None:
        message = f"is too much here: a page has up to {MAX_BYTES // 2**20} MiB, into which {fits} fit"
        super().__init__([Issue(parameter, message)], code="page_too_large")
        self.parameter, self.fits = parameter, fits

    def details(self) -> dict[str, Any]:
        """Return the issue, and the value of the parameter that fits, under its name."""
        return {**super().details(), self.parameter: self.fits}


def fitting(sizes: Iterable[int], around: int = 0) -> int:
    """Return how many items of these sizes, from the first, fit next to the envelope; at least one."""
    return max(sum(together + around <= MAX_BYTES for together in accumulate(sizes)), 1)


@dataclass(frozen=True, kw_only=True)
class PageOfItems:
    """A page of a list, with the members of the schema `PageOf`."""

    items: Sequence[Any]
    total: int
    page: int
    per_page: int
    has_more: bool
    is_cut: bool = False
    """Whether it was cut to the items that fit."""


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

        The first field is the default, in this direction. `then` is the column that orders equal rows.
        """
        field = given.get("orderBy[field]", next(iter(fields)))
        sign = "" if given.get("orderBy[direction]", direction) == "ASC" else "-"
        number = number_in(given, "page", 0)
        size = number_in(given, "perPage", size)
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
        view: View = list,
        *,
        select: Callable[[QuerySet[Any]], QuerySet[Any]] = QuerySet.all,
        unstored: Sequence[Any] = (),
        weight: Expression | None = None,
    ) -> PageOfItems:
        """Return the page of a list, in its order.

        Takes two queries and those of `view`, which prepares the items.

        `select` adds the columns that only rows of the page need: joined tables would make counting slow.
        `unstored` are the few items that are not rows; they are merged into the order. `weight` is the
        approximate size of a row in bytes: with it a third query measures the rows, so that only those that
        fit are read.
        """
        total = rows.count() + len(unstored)
        start, stop = self.slice.start, min(self.slice.stop, total)
        fits = self._fits(rows, len(unstored), start, stop, weight) if stop - start > _FEW else self.size
        is_cut = fits < stop - start
        stop = start + fits if is_cut else stop
        items = merged_slice(select(rows), unstored, self.order, start, stop) if start < stop else []
        return PageOfItems(
            items=view(items),
            total=total,
            page=self.number,
            per_page=self.size,
            has_more=bool(items) and start + len(items) < total,
            is_cut=is_cut,
        )

    def _fits(
        self, rows: QuerySet[Any], unstored: int, start: int, stop: int, weight: Expression | None
    ) -> int:
        """Return how many items of the page fit, considering only rows."""
        if weight is None:
            return self.size
        first = max(0, start - unstored)
        measured = rows.order_by(*self.order).annotate(bytes_of_row=weight)
        sizes = measured.values_list("bytes_of_row", flat=True)[first:stop]
        together = [size or 0 for size in sizes]
        if sum(together) <= MAX_BYTES:
            return self.size
        return max(fitting(together) - (start - first), 1)


def number_in(given: QueryDict, name: str, default: Default) -> int | Default:
    """Return the whole number in a query parameter, of up to nine digits; raises `Invalid`."""
    text = given.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise Invalid.field(name, "must be a whole number from 0 on")
    return int(text)
