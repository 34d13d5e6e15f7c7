"""The home page (what waits, recent and starred ones, what happened), and the search over everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from studio import extensions
from studio.activity.views import latest
from studio.home.sections import WAITING, sections
from studio.kinds import KINDS, StudioKind
from studio.preferences.recent import recently_opened
from studio.resources.create import may_create
from studio.resources.rows import Row
from studio.views import StudioPage
from versioning.domain.access import Right
from versioning.editor.catalog import Filter, Waiting
from versioning.models.search import MAX_LENGTH

SHOWN: Final = 8
FOUND: Final = 20


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
        return self._home()

    def _home(self) -> HttpResponse:
        self.listen({})
        caller, works = self.caller, may_create(self.caller)
        waiting = Waiting([kind.catalog(caller) for kind in KINDS]) if works else None
        shown = sections(
            waiting.keys(0, WAITING) if waiting else [], recently_opened(self.request), self.position, caller
        )
        return self.page(
            "studio/home/home.html",
            title=_("Home"),
            counts=waiting and {whose.value: count for whose, count in waiting.counts.items()},
            sections=shown,
            lines=latest(self.editor, caller, SHOWN),
            notices=extensions.notices(caller),
            works=works,
            may_publish=caller.scope(Right.PUBLISH) != frozenset(),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )

    def _found(self, text: str) -> list[Found]:
        results = []
        for kind in KINDS:
            found = kind.catalog(self.caller).search(Filter(text=text), order="-updated_at")[: FOUND + 1]
            rows = [Row.of(kind, entry) for entry in found]
            results.append(Found(kind=kind, rows=rows[:FOUND], more=len(rows) > FOUND))
        return results
