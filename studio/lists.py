"""The lists of agents and of prompt blocks."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from studio.kinds import AGENT, StudioKind
from studio.pages import StudioPage


class ListPage(StudioPage):
    """All of one kind that the caller may read."""

    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show it."""
        rows = self.kind.collection.list(by=self.caller)[:50]
        return self.page(
            "studio/list.html",
            title=self.kind.plural.capitalize(),
            kind=self.kind,
            rows=[(row.pk, self.kind.address("change", row.pk)) for row in rows],
        )
