"""Search the words of all kinds at once: readable resources, why they matched, and how many of each kind.

Rows are found through the index; rows missing from it, and agents without a row, are searched directly. The
catalog decides which resources and versions count, so nothing else can match, be counted or be shown.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact
from editor_client.shared.configurations import searchable
from editor_client.shared.text_keys import caseless

from versioning.domain import text_search
from versioning.domain.config import Config
from versioning.domain.kinds import ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.domain.text_search import Piece, TextQuery
from versioning.domain.texts import clip
from versioning.editor.catalog.catalog import Catalog
from versioning.editor.catalog.criteria import TEXT, Unstored, name_condition
from versioning.editor.catalog.entries import Entry, reads_drafts
from versioning.models import VersionedResource
from versioning.models.search import check_length
from versioning.models.text_keys import contains
from versioning.models.text_search import Lines, Place, missing, text_index

_AHEAD: Final = datetime.datetime.max.replace(tzinfo=datetime.UTC)
"""The sort time of agents that only code defines, so that they come first as in lists."""
_CODE_LINES: Final = 200
"""How many texts of code-defined agents are cached with their words: they are the same in every search."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A resource that matched, and why."""

    kind: ResourceKind
    entry: Entry
    version: Snapshot | None
    """The version that matched; None for an agent that only code defines."""
    name: Sequence[Piece]
    id: Sequence[Piece]
    excerpt: Sequence[Piece]
    """The part of the text or the description that matched, or the beginning if neither did."""


@dataclass(frozen=True)
class Rank:
    """The position of a match among the results."""

    place: Place
    at: datetime.datetime
    resource_id: str

    @property
    def order(self) -> tuple[int, float, str]:
        """The sort key of the results."""
        return self.place, -self.at.timestamp(), self.resource_id


@dataclass(frozen=True, kw_only=True)
class DirectMatch:
    """A match that was found without a search query."""

    rank: Rank
    entry: Entry
    version: Snapshot | None
    config: Config


class Results(ABC):
    """The results of one kind."""

    is_inside = False
    places: Sequence[Place] = tuple(Place)
    """The places that are distinguished, the first ones first."""

    def __init__(self, catalog: Catalog, query: TextQuery) -> None:
        self.catalog = catalog
        self.query = query
        self.kind = catalog.collection.kind

    @cached_property
    def count(self) -> int:
        """The number of results."""
        return len(self.direct_matches) + self._row_count

    def first(self, limit: int) -> list[Rank]:
        """Return the first results, unordered: at least the requested number, if there are that many."""
        ranks: dict[str, Rank] = {}
        for place in self.places:
            if len(ranks) >= min(limit, self._row_count):
                break
            rows = self._rows(place).order_by("-seen_at", "pk").values_list("seen_at", "pk")
            for at, pk in rows[: 2 * (limit + len(ranks))]:
                ranks.setdefault(pk, Rank(place, at, pk))
        return [*(hit.rank for hit in self.direct_matches.values()), *ranks.values()]

    @cached_property
    def _row_count(self) -> int:
        return self._rows(Place.ANYWHERE).aggregate(found=Count("pk", distinct=True))["found"] or 0

    @cached_property
    def direct_matches(self) -> Mapping[str, DirectMatch]:
        """The matches that were found without a search query, by id."""
        return {hit.entry.id: hit for hit in self._look_through()}

    def hits(self, ranks: Sequence[Rank]) -> Mapping[str, Hit]:
        """Return the hits of a page, by id."""
        ids = [rank.resource_id for rank in ranks if rank.resource_id not in self.direct_matches]
        places = {rank.resource_id: rank.place for rank in ranks}
        direct = [
            self.direct_matches[rank.resource_id] for rank in ranks if rank.resource_id in self.direct_matches
        ]
        hits = [self._hit(hit.entry, hit.version, hit.config, hit.rank.place) for hit in direct]
        rows = list(self.catalog.rows.filter(pk__in=ids)) if ids else []
        versions = self._versions(rows) if rows else {}
        for row, entry in zip(rows, self.catalog.entries(rows) if rows else (), strict=True):
            version = versions.get(row.pk)
            if version is not None:
                hits.append(self._hit(entry, version, version.config, places[row.pk]))
        return {hit.entry.id: hit for hit in hits}

    def _versions(self, rows: Sequence[VersionedResource]) -> Mapping[str, Snapshot]:
        """Return the newest matching version of each row, by the id of the row."""
        candidates = {row.pk: self._readable(row) for row in rows}
        several = [catalog for two in candidates.values() if len(two) > 1 for catalog in two]
        with_it = self._with_it(several) if several else set()
        chosen = {
            next((key for key in two if key in with_it), two[-1]): pk for pk, two in candidates.items() if two
        }
        versions: Any = self.catalog.collection.model.version_model._default_manager
        chosen_versions = versions.filter(pk__in=chosen).select_related("author").defer("search_text")
        return {chosen[version.pk]: version for version in chosen_versions}

    def _readable(self, row: VersionedResource) -> list[UUID]:
        """Return the ids of the readable versions of a row, without duplicates, newest first."""
        latest = row.latest_version_id if reads_drafts(self.catalog.caller, row) else None
        return list(
            dict.fromkeys(
                version_id for version_id in (latest, row.active_version_id) if version_id is not None
            )
        )

    def _hit(self, entry: Entry, version: Snapshot | None, config: Config, place: Place) -> Hit:
        texts = searchable(entry.id, config, self.kind.text_field)
        sought = (
            [texts.description, texts.text] if place is Place.DESCRIPTION else [texts.text, texts.description]
        )
        cut_out = (text_search.excerpt(text, self.query, inside=self.is_inside) for text in sought)
        excerpt = next(
            (piece for piece in cut_out if piece is not None),
            text_search.beginning(texts.text or texts.description),
        )
        return Hit(
            kind=self.kind,
            entry=entry,
            version=version,
            name=text_search.mark_hits(
                clip(entry.name, text_search.LENGTH), self.query, inside=self.is_inside
            ),
            id=text_search.mark_hits(entry.id, self.query, inside=self.is_inside),
            excerpt=excerpt,
        )

    @abstractmethod
    def _look_through(self) -> Iterator[DirectMatch]:
        """Yield the matches that are found without a search query."""

    @abstractmethod
    def _rows(self, place: Place) -> QuerySet[Any]:
        """Return the rows that match in a place; one with two such versions can occur twice."""

    @abstractmethod
    def _with_it(self, version_ids: Sequence[UUID]) -> Collection[UUID]:
        """Return the ids of the versions that match."""


class WordResults(Results):
    """The texts that contain the words, found through the index."""

    def __init__(self, catalog: Catalog, query: TextQuery, behind: Mapping[str, set[str]]) -> None:
        super().__init__(catalog, query)
        self.documents = catalog.collection.model.document_model
        self.behind = behind.get(self.kind.slug, set())

    def _look_through(self) -> Iterator[DirectMatch]:
        """Yield matches in code-defined agents, and in rows whose index entry is missing or outdated."""
        for unstored in self.catalog.unstored_agents:
            for config in unstored.configs:
                place = _lines_of_code(searchable(unstored.entry.id, config, self.kind.text_field)).place_of(
                    self.query
                )
                if place is not None:
                    yield _match_in_code(unstored, config, place)
        if not self.behind:
            return
        stored = self.catalog.stored_rows().filter(pk__in=self.behind)
        rows = list(stored.defer(None).select_related("active_version__author", "latest_version__author"))
        for row, entry in zip(rows, self.catalog.entries(rows), strict=True):
            match = self._match_row(row, entry)
            if match is not None:
                yield match

    def _match_row(self, row: VersionedResource, entry: Entry) -> DirectMatch | None:
        """Return the newest version that contains the words."""
        by_id = {row.active_version_id: row.active_version, row.latest_version_id: row.latest_version}
        for version in map(by_id.__getitem__, self._readable(row)):
            place = Lines.of(searchable(row.pk, version.config, self.kind.text_field)).place_of(self.query)
            if place is not None:
                rank = Rank(place, row.seen_at, row.pk)
                return DirectMatch(rank=rank, entry=entry, version=version, config=version.config)
        return None

    def _rows(self, place: Place) -> QuerySet[Any]:
        is_read = _pointer_condition("active_version_id") | self.catalog.viewer.drafts & _pointer_condition(
            "latest_version_id"
        )
        document_ids = text_index().search(self.documents, self.query, place)
        rows = self.catalog.stored_rows().order_by().filter(is_read, documents__pk__in=document_ids)
        return rows.exclude(pk__in=self.behind) if self.behind else rows

    def _with_it(self, version_ids: Sequence[UUID]) -> Collection[UUID]:
        documents: Any = self.documents._default_manager.filter(version_id__in=version_ids)
        document_ids = text_index().search(self.documents, self.query)
        return set(documents.filter(pk__in=document_ids).values_list("version_id", flat=True))


class InsideResults(Results):
    """The texts that contain everything typed, even inside words, as in searches of lists."""

    is_inside = True
    places = (Place.NAME, Place.ANYWHERE)

    def _look_through(self) -> Iterator[DirectMatch]:
        """Yield matches in code-defined agents."""
        for unstored in self.catalog.unstored_agents if self.query.pieces else ():
            if all(TEXT.holds(unstored, part, self.catalog.viewer) for part in self.query.pieces):
                yield _match_in_code(unstored, unstored.configs[0], Place.ANYWHERE)

    def _rows(self, place: Place) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.catalog.stored_rows().order_by()
        for part in self.query.pieces:
            viewer = self.catalog.viewer
            in_names = place is Place.NAME
            rows = rows.filter(name_condition(part, viewer)) if in_names else TEXT.narrow(rows, part, viewer)
        return rows if self.query.pieces else rows.none()

    def _with_it(self, version_ids: Sequence[UUID]) -> Collection[UUID]:
        versions: Any = self.catalog.collection.model.version_model._default_manager.filter(
            pk__in=version_ids
        )
        for part in self.query.pieces:
            versions = versions.filter(contains("search_text", Value(caseless(part))))
        return set(versions.values_list("pk", flat=True))


def _pointer_condition(pointer: str) -> Q:
    """Return the condition that a document belongs to a pointer, so that documents are read first.

    With the plain column, SQLite would search all matches again for each readable row.
    """
    version_id = F("documents__version_id")
    return Q(Exact(Coalesce(version_id, version_id), F(pointer)))


def _match_in_code(unstored: Unstored, config: Config, place: Place) -> DirectMatch:
    rank = Rank(place, _AHEAD, unstored.entry.id)
    return DirectMatch(rank=rank, entry=unstored.entry, version=unstored.entry.version, config=config)


_lines_of_code: Final = lru_cache(maxsize=_CODE_LINES)(Lines.of)


class TextSearch:
    """The results for a text, in several catalogs of one caller.

    If no text contains the words, or only punctuation was typed, or the index is not built yet, the search
    looks inside words. Raises `Invalid` if the text is too long.
    """

    def __init__(self, catalogs: Iterable[Catalog], text: str) -> None:
        check_length(text)
        self.query = TextQuery(text.replace("\0", " "))
        self._catalogs = list(catalogs)
        behind = missing() if self.query.terms else None
        self._parts: list[Results] = [
            WordResults(catalog, self.query, behind) for catalog in self._catalogs if behind is not None
        ]
        self.is_inside = not any(part.count for part in self._parts)
        """Whether the search looked inside words."""
        if self.is_inside:
            self._parts = [InsideResults(catalog, self.query) for catalog in self._catalogs]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of results of each kind, by slug."""
        return {part.kind.slug: part.count for part in self._parts}

    def hits(self, start: int, stop: int, kind: ResourceKind | None = None) -> list[Hit]:
        """Return a slice of the results: exact matches first, then those that begin with the text.

        Then come matches in names, ids, descriptions and texts, newest first.
        """
        parts = [part for part in self._parts if kind is None or part.kind.slug == kind.slug]
        ranks = [(rank, part) for part in parts for rank in part.first(stop)]
        page = sorted(ranks, key=lambda both: both[0].order)[start:stop]
        hits = {part.kind.slug: part.hits([rank for rank, of in page if of is part]) for part in parts}
        # Resources that were deleted in the meantime are left out.
        return [hit for rank, part in page if (hit := hits[part.kind.slug].get(rank.resource_id))]
