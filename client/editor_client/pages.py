"""Lists: their arguments, a page of them, and iterating over all pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Generic, Literal, Protocol, Self, TypedDict, TypeVar

from editor_client.calls import Call, Query, Source, query, reading
from editor_client.errors import EditorError
from editor_client.result import Result, camel


class HasId(Protocol):
    """An item of a list."""

    @property
    def id(self) -> str:
        """Its id."""


T = TypeVar("T")
Entry = TypeVar("Entry", bound=HasId)
P = TypeVar("P", bound="Page[Any]")


class Paging(TypedDict, total=False):
    """A page of a list, counted from 0, its size, and the order of the list."""

    page: int
    per_page: int
    order_by: str
    direction: Literal["ASC", "DESC"]


class Page(Result, Generic[T]):
    """A page of a list. The last member of each subclass holds the entries, under the list's own name."""

    total: int
    page: int
    per_page: int
    has_more: bool

    @classmethod
    def of(cls, raw: Any, **own: Any) -> Self:
        """Return the page in an answer, whose paging may be in an object of its own."""
        paging = raw.get("pagination") if isinstance(raw, dict) else None
        return super().of({**raw, **paging} if isinstance(paging, dict) else raw, **own)

    @property
    def entries(self) -> tuple[T, ...]:
        """The items on the page."""
        entries: tuple[T, ...] = getattr(self, fields(self)[-1].name)
        return entries


def listing(path: str, result: type[P], arguments: Any) -> Call[P]:
    """Describe the call that returns a page of a list; `arguments` are filters, order and page."""
    filters = {name: value for name, value in arguments.items() if name not in Paging.__annotations__}
    if not isinstance(filters.get("tag", ""), str):
        filters["tag"] = ",".join(filters["tag"])
    return Call.to("GET", path, reading(result), query=(*paging(arguments), *query(**filters)))


def paging(page: Paging) -> Query:
    """Return the parameters for a page of a list and its order."""
    order = {"orderBy[field]": page.get("order_by"), "orderBy[direction]": page.get("direction")}
    ordered = tuple((name, camel(value)) for name, value in order.items() if value is not None)
    return (*query(page=page.get("page"), per_page=page.get("per_page")), *ordered)


class Pages(Source[Entry]):
    """All entries of a list, page by page; `call` describes a page by its number `page` and `per_page`.

    If the server reports that a page would be too large, the following pages are smaller.
    """

    def __init__(self, call: Callable[..., Call[Page[Entry]]]) -> None:
        self._call = call
        self._next: int | None = 0
        self._size: int | None = None
        self._smaller: dict[str, int] = {}
        self._seen: set[str] = set()

    @classmethod
    def of(cls, path: str, result: type[Page[Entry]], arguments: Any) -> Pages[Entry]:
        """Return all entries of the list at an address; `arguments` are filters and order."""
        return cls(lambda **page: listing(path, result, {**arguments, **page}))

    def next_call(self) -> Call[Page[Entry]] | None:
        """Return the call for the next page; None if there is none."""
        if self._next is None:
            return None
        return self._call(page=self._next, **self._smaller)

    def shrink(self, error: EditorError) -> None:
        """Request smaller pages from here on; raises the error if it is not about a page's size."""
        fits = error.details.get("perPage")
        if error.code != "page_too_large" or not isinstance(fits, int) or fits < 1:
            raise error
        if self._next:
            # The items before fill whole pages of a smaller size only if it divides the size.
            size = self._size or 1
            fits = max(
                (length for length in range(1, min(fits, size - 1) + 1) if size % length == 0), default=0
            )
            if not fits:
                raise error
            self._next *= size // fits
        elif self._size is not None and fits >= self._size:
            raise error
        self._size, self._smaller = fits, {"per_page": fits}

    def entries_of(self, page: Page[Entry]) -> Iterator[Entry]:
        """Yield the new items of a page.

        Items created in the meantime shift the list, so that the last items of one page can be repeated on
        the next.
        """
        self._next, self._size = page.page + 1 if page.has_more else None, page.per_page
        for entry in page.entries:
            if entry.id not in self._seen:
                self._seen.add(entry.id)
                yield entry
