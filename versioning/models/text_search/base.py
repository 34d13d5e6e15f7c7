"""The interface of a database for searching words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Self

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from editor_client.shared.configurations import Searchable

from versioning.domain.text_search import TextQuery, word_line
from versioning.models.text_search.documents import SearchDocument

Documents = QuerySet[Any]


class Place(IntEnum):
    """Where a resource matches; the first places come first among the results."""

    EXACT = 0
    """Its name or id equals the text, ignoring case, accents and punctuation."""
    BEGINS = 1
    """Its name or id begins with the text."""
    NAME = 2
    ID = 3
    DESCRIPTION = 4
    ANYWHERE = 5
    """In the text, or distributed over several fields."""


LEADING: Final = (Place.EXACT, Place.BEGINS)
"""The places where the text is the whole name or id, or its beginning."""
NARROW: Final = (Place.NAME, Place.ID, Place.DESCRIPTION)
"""The places that are one field, anywhere in it."""


@dataclass(frozen=True)
class Lines:
    """The words of a version, field by field in the order of `NARROW`."""

    name: str
    id: str
    description: str
    text: str

    @classmethod
    def of(cls, texts: Searchable) -> Self:
        """Return the words of the texts of a version."""
        return cls(*map(word_line, (texts.name, texts.id, texts.description, texts.text)))

    def __iter__(self) -> Iterator[str]:
        return iter((self.name, self.id, self.description, self.text))

    def place_of(self, query: TextQuery) -> Place | None:
        """Return the first place that matches the query; None if there is none."""
        if not query.is_in(self):
            return None
        if query.line in {self.name, self.id}:
            return Place.EXACT
        if any(line.startswith(query.beginning) for line in (self.name, self.id)):
            return Place.BEGINS
        lines = zip(NARROW, self, strict=False)
        return next((place for place, line in lines if query.is_in([line])), Place.ANYWHERE)


NewDocument = tuple[SearchDocument, Lines]
"""A document that is not stored yet, with its words."""


class TextIndex(ABC):
    """The words of the documents, in one database.

    `found` and `Lines.place_of` agree about what matches. All documents of a call are of one kind.
    """

    @abstractmethod
    def add(self, documents: Sequence[NewDocument]) -> None:
        """Store documents with their words."""

    @abstractmethod
    def remove(self, documents: Documents) -> None:
        """Delete documents with their words."""

    @abstractmethod
    def found(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms in a place, as a subquery.

        The query must have terms.
        """
