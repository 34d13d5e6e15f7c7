"""Search the words of all kinds at once: what a caller may read, why it was found, and how much of each kind.

Rows are found through the index; what it does not have yet, and what no row describes, is looked through
here. Which resources and versions count is the catalog's affair, so nothing else can match, be counted or be
shown.
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

    If no text has the words, it is looked for inside of words; so it is if nothing but punctuation was
    typed, and until the index has been built. Raises `Invalid` if the text is too long.
    """

    def __init__(self, catalogs: Iterable[Catalog], text: str) -> None:
        check_length(text)
        self.query = TextQuery(text.replace("\0", " "))
        self._catalogs = list(catalogs)
        behind = missing() if self.query.terms else None
        self._parts: list[Results] = [
            WordResults(one, self.query, behind) for one in self._catalogs if behind is not None
        ]
        self.is_inside = not any(part.count for part in self._parts)
        """Whether it was looked for inside of words."""
        if self.is_inside:
            self._parts = [InsideResults(one, self.query) for one in self._catalogs]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many were found of each kind, by its slug."""
        return {part.kind.slug: part.count for part in self._parts}

    def hits(self, start: int, stop: int, kind: ResourceKind | None = None) -> list[Hit]:
        """Return a part of the results: what is called as typed first, then what begins so.

        Then come names, ids, descriptions and texts, the newest first.
        """
        parts = [part for part in self._parts if kind is None or part.kind.slug == kind.slug]
        found = [(one, part) for part in parts for one in part.first(stop)]
        shown = sorted(found, key=lambda both: both[0].order)[start:stop]
        hits = {part.kind.slug: part.hits([one for one, of in shown if of is part]) for part in parts}
        # What was deleted meanwhile is there no more.
        return [hit for one, part in shown if (hit := hits[part.kind.slug].get(one.resource_id))]
