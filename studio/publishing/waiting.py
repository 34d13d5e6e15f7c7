"""The drafts waiting to be published, of both kinds."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions
from studio.extensions import ChosenOn
from studio.kinds import KINDS
from studio.publishing.drafts import Draft, drafts_of
from studio.views import StudioPage
from studio.workspaces.listing import no_drafts
from studio.workspaces.names import by_workspace, workspace_names
from versioning.domain.access import Right
from versioning.editor.catalog import Waiting, Waits, Whose

PER_PAGE: Final = 25


class WaitingPage(StudioPage):
    """The drafts in the caller's workspaces, newest first, to review and publish."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of all of them, of the caller's own, or of those by others."""
        if self.caller.scope(Right.SAVE) == frozenset():
            raise no_drafts(self.caller)
        self.listen({})
        given = request.GET.get("whose", "")
        whose = Whose(given) if given in set(Whose) else Whose.ALL
        waiting = Waiting([kind.catalog(self.caller) for kind in KINDS], whose, self.editor.cache)
        counts = waiting.counts
        page: Page[Waits] = Paginator(waiting, PER_PAGE).get_page(request.GET.get("page"))
        query = {} if whose is Whose.ALL else {"whose": whose.value}
        drafts = self._drafts(list(page.object_list))
        names = workspace_names(self.caller)
        return self.page(
            "studio/publishing/waiting.html",
            title=_("Waiting to be published · %(count)s") % {"count": counts[Whose.ALL]},
            tabs=[
                {
                    "title": title,
                    "address": f"?{urlencode({'whose': one.value})}" if one is not Whose.ALL else "?",
                    "current": one is whose,
                }
                for one, title in _tabs(counts).items()
            ],
            whose=whose,
            page=page,
            query=urlencode(query),
            groups=by_workspace(drafts, lambda draft: draft.resource.workspace_id, names),
            names_workspaces=len(names) > 1,
            may_publish=any(draft.may_publish for draft in drafts),
            some_hindered=any(draft.hindrance for draft in drafts),
            publish_address=reverse("studio:publish_chosen"),
            further=additions.added(lambda one: one.chosen(self.caller, ChosenOn.WAITING)),
        )

    def _drafts(self, waits: list[Waits]) -> list[Draft]:
        drafts: dict[tuple[str, str], Draft] = {}
        for kind in KINDS:
            found = [
                (wait.resource, wait.entry)
                for wait in waits
                if wait.catalog.collection.kind.slug == kind.slug
            ]
            drafts |= {(kind.slug, draft.resource.pk): draft for draft in drafts_of(kind, found, self.caller)}
        return [drafts[wait.catalog.collection.kind.slug, wait.resource.pk] for wait in waits]


def _tabs(counts: dict[Whose, int]) -> dict[Whose, str]:
    return {
        Whose.ALL: _("All · %(count)s") % {"count": counts[Whose.ALL]},
        Whose.MINE: _("Mine · %(count)s") % {"count": counts[Whose.MINE]},
        Whose.OTHERS: _("Others · %(count)s") % {"count": counts[Whose.OTHERS]},
    }
