"""The search over everything: its page, and the suggestions while a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.search.results import Result
from studio.views import StudioPage
from versioning.domain.access import Caller
from versioning.editor.catalog import TextSearch
from versioning.models.search import MAX_LENGTH

PER_PAGE: Final = 20
MAX_LISTED: Final = 1_000
"""The maximum number of results on the pages; a longer list requires a more specific search."""
SUGGESTED: Final = 8


@dataclass(frozen=True, kw_only=True)
class Tab:
    """The results of one kind, or of all."""

    title: str
    count: int
    address: str
    is_current: bool


class Results(Sequence[Result]):
    """The results of a search; can be sliced like a list."""

    def __init__(self, search: TextSearch, kind: StudioKind | None) -> None:
        self._search = search
        self._kind = kind
        counts = search.counts
        self.total = sum(counts.values()) if kind is None else counts[kind.slug]

    def __len__(self) -> int:
        return min(self.total, MAX_LISTED)

    def __getitem__(self, part: Any) -> Any:
        """Return the results of a slice."""
        return [Result.of(hit) for hit in self._search.hits(part.start, part.stop, self._kind)]


def text_of(request: HttpRequest) -> str:
    """Return the search text."""
    return request.GET.get("q", "").replace("\x00", "").strip()


def search_for(text: str, caller: Caller) -> TextSearch:
    """Return the matching resources of both kinds; raises `Invalid` if the text is too long."""
    return TextSearch([kind.catalog(caller) for kind in KINDS], text)


class SearchPage(StudioPage):
    """Everything that matches the typed words."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the results, of both kinds or of one."""
        text = text_of(request)
        if not text or len(text) > MAX_LENGTH:
            longest = MAX_LENGTH if text else None
            return self.page("studio/search/search.html", title=_("Search"), longest=longest)
        search = search_for(text, self.caller)
        kind = KINDS_BY_SLUG.get(request.GET.get("kind", ""))
        results = Results(search, kind)
        page = Paginator(results, PER_PAGE).get_page(request.GET.get("page"))
        return self.page(
            "studio/search/search.html",
            title=_("Search: %(text)s") % {"text": text},
            search_text=text,
            tabs=list(_tabs(search, text, kind)),
            page=page,
            results=list(page.object_list),
            count=results.total,
            listed=len(results),
            is_inside=search.is_inside and search.query.terms,
            query=_query(text, kind),
        )


class SuggestionsPage(StudioPage):
    """The first results, as options of the search field."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return them as part of a page; none for a text that is too long."""
        text = text_of(request)
        is_wanted = 0 < len(text) <= MAX_LENGTH
        hits = search_for(text, self.caller).hits(0, SUGGESTED) if is_wanted else []
        results = [Result.of(hit) for hit in hits]
        return TemplateResponse(request, "studio/search/suggestions.html", {"results": results})


def _tabs(search: TextSearch, text: str, current: StudioKind | None) -> list[Tab]:
    counts = search.counts
    kinds: list[tuple[StudioKind | None, str, int]] = [(None, _("All"), sum(counts.values()))]
    kinds += [(kind, str(kind.title), counts[kind.slug]) for kind in KINDS]
    return [
        Tab(
            title=title,
            count=count,
            address=f"{reverse('studio:search')}?{_query(text, kind)}",
            is_current=kind == current,
        )
        for kind, title, count in kinds
    ]


def _query(text: str, kind: StudioKind | None) -> str:
    return urlencode({"q": text, "kind": kind.slug} if kind else {"q": text})
