"""Search the words of all kinds at once: readable resources, why they matched, and how many of each kind.

Rows are found through the index; rows missing from it, and agents without a row, are searched directly. The
catalog decides which resources and versions count, so nothing else can match, be counted or be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from versioning.domain.kinds import ResourceKind
from versioning.domain.text_search import TextQuery
from versioning.editor.catalog.catalog import Catalog
from versioning.editor.catalog.text_results import Hit, InsideResults, Results, WordResults
from versioning.models.search import check_length
from versioning.models.text_search.following import missing


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
        found = [(hit, part) for part in parts for hit in part.first(stop)]
        shown = sorted(found, key=lambda both: both[0].order)[start:stop]
        hits = {part.kind.slug: part.hits([hit for hit, of in shown if of is part]) for part in parts}
        # Resources that were deleted in the meantime are left out.
        return [hit for hit_, part in shown if (hit := hits[part.kind.slug].get(hit_.resource_id))]
