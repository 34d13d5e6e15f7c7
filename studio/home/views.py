"""The home page (drafts, publications, own edits, what happened), and the search over everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from studio import extensions
from studio.activity.views import latest
from studio.kinds import KINDS, StudioKind
from studio.resources.create import may_create
from studio.resources.rows import Row
from studio.views import StudioPage
from versioning.domain.access import Right
from versioning.editor.catalog import Activity, Catalog, Filter, drafts, own_edits, publications
from versioning.models.search import MAX_LENGTH

SHOWN: Final = 8
FOUND: Final = 20

Latest = Callable[[Catalog, int], Iterable[Activity]]
"""Returns the latest activities in a catalog, at most so many."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line on the home page."""

    kind: StudioKind
    row: Row
    activity: Activity

    @property
    def comparison(self) -> str:
        """The address of the page that shows what would change."""
        return self.kind.address("compare", self.row.summary.resource_id)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The search results of one kind."""

    kind: StudioKind
    rows: list[Row]
    more: bool
    """Whether there is more than what is shown."""

    @property
    def list_address(self) -> str:
        """The address of the whole list."""
        return self.kind.address("changelist")


class HomePage(StudioPage):
    """The page where everybody starts."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the latest activity, or the search results."""
        text = request.GET.get("q", "").replace("\x00", "").strip()
        if len(text) > MAX_LENGTH:
            return self.page("studio/home/search.html", title="Search", longest=MAX_LENGTH)
        if text:
            return self.page(
                "studio/home/search.html", title=f"Search: {text}", search_text=text, found=self._found(text)
            )
        self.listen({})
        return self.page(
            "studio/home/home.html",
            title="Home",
            needing=self._newest(drafts),
            published=self._newest(publications),
            mine=self._newest(own_edits),
            lines=latest(self.editor, self.caller, SHOWN),
            activity_address=reverse("admin:activity"),
            notices=extensions.notices(self.caller),
            works=may_create(self.caller),
            may_publish=bool(self.caller.everywhere or self.caller.scope(Right.PUBLISH)),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )

    def _newest(self, latest: Latest) -> list[Entry]:
        """Return the newest of both kinds."""
        entries = [
            Entry(kind=kind, row=Row.of(kind, activity.entry), activity=activity)
            for kind in KINDS
            for activity in latest(kind.catalog(self.caller), SHOWN)
        ]
        return sorted(entries, key=lambda entry: entry.activity.at, reverse=True)[:SHOWN]

    def _found(self, text: str) -> list[Found]:
        results = []
        for kind in KINDS:
            found = kind.catalog(self.caller).search(Filter(text=text), order="-updated_at")[: FOUND + 1]
            rows = [Row.of(kind, entry) for entry in found]
            results.append(Found(kind=kind, rows=rows[:FOUND], more=len(rows) > FOUND))
        return results
