"""Iterate over lists that have several pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from editor_client.calls import Call
from editor_client.errors import EditorError
from editor_client.records import Page


class HasId(Protocol):
    """Whatever is listed."""

    @property
    def id(self) -> str:
        """What it is known by."""


T = TypeVar("T", bound=HasId)


class Pages(Generic[T]):
    """Iterates over a list, page by page; `call` describes a page by its number `page` and `per_page`.

    Where the server says that a page would be too long, the pages are smaller from there on.
    """

    def __init__(self, call: Callable[..., Call[Page[T]]]) -> None:
        self._call = call
        self._next: int | None = 0
        self._size: int | None = None
        self._smaller: dict[str, int] = {}
        self._seen: set[str] = set()

    def next_call(self) -> Call[Page[T]] | None:
        """Return the call for the next page; None if there is none."""
        if self._next is None:
            return None
        return self._call(page=self._next, **self._smaller)

    def shrink(self, error: EditorError) -> None:
        """Ask for smaller pages from here on; raises the error if it is none about too long a page."""
        fits = error.details.get("perPage")
        if error.code != "page_too_large" or not isinstance(fits, int) or fits < 1:
            raise error
        if self._next:
            # The entries before are so many pages of a smaller size only if that divides the size.
            size = self._size or 1
            fits = max((one for one in range(1, min(fits, size - 1) + 1) if size % one == 0), default=0)
            if not fits:
                raise error
            self._next *= size // fits
        elif self._size is not None and fits >= self._size:
            raise error
        self._size, self._smaller = fits, {"per_page": fits}

    def entries_of(self, page: Page[T]) -> Iterator[T]:
        """Yield the new entries of a page.

        Entries created meanwhile shift the list, so that the last entries of one page can be repeated on
        the next.
        """
        self._next, self._size = page.page + 1 if page.has_more else None, page.per_page
        for entry in page.entries:
            if entry.id not in self._seen:
                self._seen.add(entry.id)
                yield entry
