"""The lists of agents and of prompt blocks; setting a star."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions
from studio.error_pages import came_from
from studio.extensions import ChosenOn
from studio.kinds import AGENT, StudioKind
from studio.models import SavedFilter
from studio.resources.base import ResourcePage
from studio.resources.filters import (
    MAX_FILTERS,
    OLD_STATES,
    FilterForm,
    heads,
    quick_chips,
    tag_chip,
    tree,
    value_of_matching,
)
from studio.resources.rows import Columns, Row, stars_of
from studio.views import StudioPage
from versioning.editor.bulk import MAX_CHOSEN
from versioning.editor.catalog import Entry, overview

PER_PAGE: Final = 50


class ListPage(StudioPage):
    """All resources of one kind that the caller may read."""

    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the filtered list, which updates itself."""
        state = OLD_STATES.get(request.GET.get("state", ""))
        if state is not None:
            query = request.GET.copy()
            query["state"] = state
            return self.go(f"?{query.urlencode()}")
        self.listen({"resource_kind": self.kind.slug})
        catalog = self.kind.catalog(self.caller)
        known = overview(catalog, self.editor.cache)
        form = FilterForm(request.GET, kind=self.kind, caller=self.caller, known=known)
        wanted = form.wanted
        found = catalog.search(wanted, order=form.sorting, cache=self.editor.cache)
        page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        rows = self._rows(list(page.object_list))
        folders, folders_left_out = tree(known.folders, wanted.get("folder", ""))
        return self.page(
            "studio/resources/list.html",
            title=self.kind.title,
            kind=self.kind,
            form=form,
            wanted=wanted,
            page=page,
            counted=self.kind.counted(page.paginator.count),
            rows=rows,
            columns=Columns.of(known),
            heads=heads(form),
            chips=quick_chips(form),
            tag_chips=[tag_chip(form, tag) for tag in wanted.get("tag", ())],
            query=form.address()[1:],
            folders=folders,
            folders_left_out=folders_left_out,
            leave_folder=form.address(folder=""),
            may_create=self.kind.admin.has_add_permission(self.request),
            add_address=self.kind.address("add"),
            list_address=request.path,
            **self._saved_filters(form),
            **self._choosing(rows, page.paginator.count),
        )

    def _rows(self, entries: Sequence[Entry]) -> list[Row]:
        """Return the rows of a page, with stars for stored resources, and the applications' notes."""
        stored = {entry.id: entry.workspace_id for entry in entries if entry.version}
        starred = stars_of(self.kind, list(stored), self.caller)
        notes = additions.list_notes(self.caller, self.kind, stored)
        return [
            Row.of(self.kind, one, self.caller, starred.get(one.id), notes.get(one.id, ())) for one in entries
        ]

    def _saved_filters(self, form: FilterForm) -> dict[str, Any]:
        """Return the caller's saved filters, and whether the current one can be saved."""
        query = form.address()[1:]
        saved = list(SavedFilter.objects.of(self.caller.user_id, self.kind.slug))
        is_saved = any(one.query == query for one in saved)
        return {
            "saved_filters": [
                {"name": one.name, "query": one.query, "current": one.query == query} for one in saved
            ],
            "may_save_filter": form.is_narrowed and not is_saved and len(saved) < MAX_FILTERS,
            "filters_address": self.kind.address("filters"),
        }

    def _choosing(self, rows: list[Row], count: int) -> dict[str, Any]:
        """Return the actions on chosen resources; none if the caller may change no resource."""
        if not any(row.chosen for row in rows):
            return {"choosing": []}
        publishes = self.kind.admin.has_publish_permission(self.request)
        offered = {
            "publish_chosen": (_("Publish…"), publishes),
            "label_chosen": (_("Label…"), publishes),
            "tag_chosen": (_("Tag…"), True),
        }
        further = additions.added(lambda one: one.chosen(self.caller, ChosenOn.LIST))
        more = (
            _("All %(count)s matches")
            if count <= MAX_CHOSEN
            else _("The first %(most)s of %(count)s that match")
        )
        return {
            "choosing": [
                *(
                    (title, reverse(f"studio:{name}"))
                    for name, (title, is_there) in offered.items()
                    if is_there
                ),
                *((action.title, action.address) for action in further),
            ],
            "matching": value_of_matching(self.kind, self.request.GET.urlencode()),
            "matching_title": more % {"count": count, "most": MAX_CHOSEN},
            "offers_matching": count > len(rows),
        }


class StarPage(ResourcePage):
    """Sets or removes a star: a form without its own page."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Redirect to the resource, for people who come here after signing in."""
        return self.go(self.address("change"))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Set it with `starred=yes`, otherwise remove it; answer a script, or redirect to the page."""
        change = (
            self.collection.favorite if request.POST.get("starred") == "yes" else self.collection.unfavorite
        )
        _, favorited = change(self.resource_id, by=self.caller)
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"starred": favorited.by_caller})
        return self.go(came_from(request) or self.address("change"))
