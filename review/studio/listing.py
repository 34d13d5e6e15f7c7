"""The reviews of a workspace."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from review.reviews.verbs import Reviews
from review.studio.presenters import lines_of
from review.studio.waiting import waiting_for
from studio.workspaces.base import WorkspacePage
from versioning.domain.access import Right

PER_PAGE: Final = 50


class Show(StrEnum):
    """The filters of the list."""

    OPEN = "open"
    WAITING = "waiting"
    MINE = "mine"
    ALL = "all"


_TITLES: Final = {
    Show.OPEN: pgettext_lazy("reviews", "Open"),
    Show.WAITING: pgettext_lazy("reviews", "Wait for me"),
    Show.MINE: pgettext_lazy("reviews", "Mine"),
    Show.ALL: pgettext_lazy("reviews", "All"),
}


class ReviewsPage(WorkspacePage):
    """The reviews, newest first; the page updates itself."""

    tab = "reviews"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show a page of open reviews, the person's own, those waiting for the person, or all."""
        self.listen({"workspace_id": self.workspace.pk})
        given = request.GET.get("show", "")
        show = Show(given) if given in set(Show) else Show.OPEN
        page: Any = Paginator(self._found(show), PER_PAGE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        records = shown if show is Show.WAITING else Reviews.current().records_of(shown)
        return self.page(
            "review/reviews.html",
            title=_("Reviews"),
            show=show.value,
            choices=[
                (title, "?" if one is Show.OPEN else f"?{urlencode({'show': one.value})}", one is show)
                for one, title in _TITLES.items()
            ],
            page=page,
            query=urlencode({"show": show.value}) if show is not Show.OPEN else "",
            lines=lines_of(records, self.caller),
            policy_address=self.address("review_policy"),
        )

    def _found(self, show: Show) -> Any:
        workspace_id = self.workspace.pk
        if show is Show.WAITING:
            return waiting_for(self.caller, workspace_id)
        author = self.caller if show is Show.MINE else None
        found = Reviews.current().list(workspace_id=workspace_id, author=author, by=self.caller)
        return found.open() if show is Show.OPEN else found
