"""The reviews of a workspace, or of all."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio.presenters import lines_of
from capabilities.review.studio.waiting import SHOW, waiting_for
from capabilities.review.studio.waiting import WAITING as WAITING_FOR_ME
from studio.workspaces.views import ListingPage

PER_PAGE: Final = 50


class Show(StrEnum):
    """The filters of the list."""

    OPEN = "open"
    WAITING = WAITING_FOR_ME
    MINE = "mine"
    ALL = "all"


_TITLES: Final = {
    Show.OPEN: pgettext_lazy("reviews", "Open"),
    Show.WAITING: pgettext_lazy("reviews", "Wait for me"),
    Show.MINE: pgettext_lazy("reviews", "Mine"),
    Show.ALL: pgettext_lazy("reviews", "All"),
}


class ReviewsPage(ListingPage):
    """The reviews, newest first; the page updates itself."""

    tab = "reviews"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of open reviews, the person's own, those waiting for the person, or all."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        given = request.GET.get(SHOW, "")
        show = Show(given) if given in set(Show) else Show.OPEN
        page: Any = Paginator(self._found(show, workspace_id), PER_PAGE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        records = shown if show is Show.WAITING else Reviews.current().records_of(shown)
        lines, names = lines_of(records, self.caller), self.shown_names
        return self.page(
            "review/reviews.html",
            title=_("Reviews"),
            show=show.value,
            choices=[
                (title, f"?{self.query(**_narrowed(one))}", one is show) for one, title in _TITLES.items()
            ],
            page=page,
            query=self.query(**_narrowed(show)),
            kept=_narrowed(show),
            lines=[(line, names.get(line.record.workspace_id, "")) for line in lines],
            policy_address="" if self.is_across else self.address("review_policy"),
        )

    def _found(self, show: Show, workspace_id: str | None) -> Any:
        if show is Show.WAITING:
            return waiting_for(self.caller, workspace_id).all
        author = self.caller if show is Show.MINE else None
        found = Reviews.current().list(workspace_id=workspace_id, author=author, by=self.caller)
        return found.open() if show is Show.OPEN else found


def _narrowed(show: Show) -> dict[str, str]:
    return {} if show is Show.OPEN else {SHOW: show.value}
