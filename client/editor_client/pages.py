"""Iterate over lists that have several pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from editor_client.calls import Call
from editor_client.records import Page


class HasId(Protocol):
    """Whatever is listed."""

    @property
    def id(self) -> str:
        """What it is known by."""


T = TypeVar("T", bound=HasId)


class Pages(Generic[T]):
    """Iterates over a list, page by page; `call` describes the page with a number."""

    def __init__(self, call: Callable[[int], Call[Page[T]]]) -> None:
        self._call = call
        self._next: int | None = 0
        self._seen: set[str] = set()

    def next_call(self) -> Call[Page[T]] | None:
        """Return the call for the next page; None if there is none."""
        return None if self._next is None else self._call(self._next)

    def entries_of(self, page: Page[T]) -> Iterator[T]:
        """Yield the new entries of a page.

        Entries created meanwhile shift the list, so that the last entries of one page can be repeated on
        the next.
        """
        self._next = page.page + 1 if page.has_more else None
        for entry in page.entries:
            if entry.id not in self._seen:
                self._seen.add(entry.id)
                yield entry
