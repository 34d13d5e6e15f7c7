"""The home page: drafts, publications, own edits, what happened."""

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
from versioning.editor.catalog import Activity, Catalog, drafts, own_edits, publications

SHOWN: Final = 8

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


class HomePage(StudioPage):
    """The page where everybody starts."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the latest activity."""
        if "q" in request.GET:  # where the search was once
            return self.go(f"{reverse('admin:search')}?{request.GET.urlencode()}")
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
