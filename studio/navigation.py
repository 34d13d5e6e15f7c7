"""Rows of links: the pages at the top of the studio, and the tabs of pages about one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise

from versioning.domain.access import Caller, Right

MAX_TABS: Final = 5
"""The maximum number of tabs of a page, including a menu at the end of the row."""
MAX_MAIN: Final = 7
"""The same for the pages at the top of the studio."""


@dataclass(frozen=True, kw_only=True)
class MainPage:
    """A link at the top of the studio, to a page about all workspaces that the person may read."""

    page: str
    """The name of its address, without `studio:`."""
    title: str | Promise
    place: int = 100
    """Its place among the pages of applications: in ascending order."""
    right: Right = Right.READ_DRAFTS
    """The right required in any workspace."""
    waiting: Callable[[Caller], int] = lambda _caller: 0
    """Returns the number of items on the page that wait for the caller."""
    waiting_query: str = ""
    """The query for the pending items; used in links while there are any."""

    sections: Sequence[str] = ()
    """The prefixes of routes below a workspace whose pages belong to it, such as `datasets/`."""

    @property
    def route(self) -> str:
        return f"studio:{self.page}"


@dataclass(frozen=True, kw_only=True)
class Link:
    title: str | Promise
    address: str
    is_current: bool = False
    count: int = 0
    """The number of pending or existing rows; not shown if 0."""


@dataclass(frozen=True, kw_only=True)
class NavigationRow:
    """A row of links, with the overflow in a menu at its end."""

    shown: Sequence[Link]
    more: Sequence[Link] = ()

    @classmethod
    def of(cls, links: Sequence[Link], most: int = MAX_TABS) -> NavigationRow:
        """Return a row of at most this many links, including the menu."""
        if len(links) <= most:
            return cls(shown=links)
        return cls(shown=links[: most - 1], more=links[most - 1 :])

    @property
    def current_in_menu(self) -> Link | None:
        """The link to the page itself, if it is in the menu."""
        return next((link for link in self.more if link.is_current), None)

    @property
    def waiting_in_menu(self) -> int:
        """The number next to the name of the menu: of the page with that name, or of all pages in it."""
        current = self.current_in_menu
        return current.count if current else sum(link.count for link in self.more)

    def __bool__(self) -> bool:
        return bool(self.shown)
