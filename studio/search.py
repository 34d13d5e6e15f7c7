"""Search results for the search page and the suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.resources.rows import Summary
from studio.views import StudioPage
from versioning.domain.access import Caller
from versioning.domain.snapshots import Snapshot
from versioning.domain.text_search import Piece
from versioning.editor.catalog import Hit, TextSearch
from versioning.models.search import MAX_LENGTH

MAX_SPAN: Final = 80
"""Up to this number of characters, a result's link covers everything from its first hit to its last."""


@dataclass(frozen=True)
class Result:
    """A resource that matched, as the pages show it."""

    hit: Hit

    @property
    def kind(self) -> StudioKind:
        return StudioKind.of(self.hit.kind)

    @property
    def summary(self) -> Summary:
        return Summary(self.hit.entry)

    @property
    def older(self) -> Snapshot | None:
        """The version that matched, if it is not the one on the edit page."""
        newest, matching = self.hit.entry.version, self.hit.version
        is_newest = newest and matching and newest.version_id == matching.version_id
        return None if is_newest else matching

    @property
    def address(self) -> str:
        page, entry = self.kind.address("change", self.hit.entry.id), self.hit.entry
        if self.older is not None:
            page = self.kind.address("version", entry.id, self.older.version_id)
        text = text_to_find(self.hit.excerpt)
        return f"{page}?{urlencode({'find': text})}" if text else page

    @property
    def is_in_live_only(self) -> bool:
        """Whether only the live version matches, not the draft on the edit page."""
        return self.older is not None and self.older.version_id == self.hit.entry.live_id

    @property
    def is_taken_back(self) -> bool:
        """Whether only a version matches that was taken back."""
        return self.older is not None and self.older.version_id != self.hit.entry.live_id

    @property
    def shows_id(self) -> bool:
        """Whether only the id matches."""
        return not any(piece.is_hit for piece in (*self.hit.name, *self.hit.excerpt))


def text_to_find(excerpt: Sequence[Piece]) -> str:
    """Return the matched text in the prompt for `find.js`; empty without a hit."""
    hits = [number for number, piece in enumerate(excerpt) if piece.is_hit]
    if not hits:
        return ""
    span = "".join(piece.text for piece in excerpt[hits[0] : hits[-1] + 1])
    return span if len(span) <= MAX_SPAN else max((excerpt[hit].text for hit in hits), key=len)


PER_PAGE: Final = 20
MAX_LISTED: Final = 1_000
"""The maximum number of results on the pages; a longer list requires a more specific search."""
SUGGESTED: Final = 8


@dataclass(frozen=True, kw_only=True)
class Tab:
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
        return [Result(hit) for hit in self._search.hits(part.start, part.stop, self._kind)]


def text_of(request: HttpRequest) -> str:
    return request.GET.get("q", "").replace("\x00", "").strip()


def search_for(text: str, caller: Caller) -> TextSearch:
    """Return the matching resources of both kinds; raises `Invalid` if the text is too long."""
    return TextSearch([kind.catalog(caller) for kind in KINDS], text)


class SearchPage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        text = text_of(request)
        if not text or len(text) > MAX_LENGTH:
            longest = MAX_LENGTH if text else None
            return self.page("studio/search/search.html", title=_("Search"), longest=longest)
        search = search_for(text, self.caller)
        kind = KINDS_BY_SLUG.get(request.GET.get("kind", ""))
        results = Results(search, kind)
        page = self.paginate(results, PER_PAGE)
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
    def get(self, request: HttpRequest) -> HttpResponse:
        """Return them as part of a page; none for a text that is too long."""
        text = text_of(request)
        is_wanted = 0 < len(text) <= MAX_LENGTH
        hits = search_for(text, self.caller).hits(0, SUGGESTED) if is_wanted else []
        results = [Result(hit) for hit in hits]
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
