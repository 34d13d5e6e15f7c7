"""PostgreSQL: a `tsvector` of the words of each field, in further columns of the documents.

The vectors have no positions: PostgreSQL counts only to 16 383, and to 256 for one word, and would miss
phrases beyond. Phrases are searched in `line` instead, among the documents that have their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection
from django.db.models.expressions import RawSQL

from versioning.domain.text_search import Term, TextQuery
from versioning.models.text_search.base import (
    LEADING,
    NARROW,
    Documents,
    Lines,
    NewDocument,
    Place,
    TextIndex,
)
from versioning.models.text_search.documents import SearchDocument

_VECTORS: Final = ("in_name", "in_id", "in_description", "words")
"""The columns, those of `NARROW` first."""
_LINES: Final = tuple(f"split_part(line, E'\\n', {number})" for number in (1, 2, 3))
"""The words of each of these fields in their order, but for the last column."""
MAX_BYTES: Final = 1_000_000
"""The maximum size of a vector's words in bytes; PostgreSQL allows 1 048 575, including overhead."""

# Only our own names are inserted into the statements.


class TextVectors(TextIndex):
    """The words as `tsvector` columns."""

    def add(self, documents: Sequence[NewDocument]) -> None:
        """Store documents with their words."""
        if not documents:
            return
        table = type(documents[0][0])._meta.db_table
        statement = (
            f"INSERT INTO {table} (version_id, resource_id, {', '.join(_VECTORS)}, line) VALUES"  # noqa: S608
            f" (%s, %s, {', '.join(['array_to_tsvector(%s)'] * len(_VECTORS))}, %s)"
        )
        rows = [(document.version_id, document.resource_id, *_words(lines)) for document, lines in documents]
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def remove(self, documents: Documents) -> None:
        """Delete documents with their words."""
        documents.delete()

    def found(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms, as a subquery."""
        lexemes = " & ".join(map(_lexemes, query.terms))
        if place in LEADING:
            condition, values = _leading(query, lexemes, is_exact=place is Place.EXACT)
        else:
            phrases = [term.in_line for term in query.terms if len(term.words) > 1]
            column = NARROW.index(place) if place in NARROW else len(NARROW)
            line = _LINES[column] if place in NARROW else "line"
            conditions = [f"{_VECTORS[column]} @@ %s::tsquery", *[f"strpos({line}, %s) > 0"] * len(phrases)]
            condition, values = " AND ".join(conditions), [lexemes, *phrases]
        # OFFSET 0 makes PostgreSQL read the index once instead of the vector of each joined document.
        statement = f"SELECT id FROM {model._meta.db_table} WHERE {condition} OFFSET 0"  # noqa: S608
        return RawSQL(statement, values)  # noqa: S611


def _leading(query: TextQuery, lexemes: str, *, is_exact: bool) -> tuple[str, list[str]]:
    """Return the condition that the name or the id equals the text or begins with it, and its values."""
    told = "{line} = %s" if is_exact else "starts_with({line}, %s)"
    condition = " OR ".join(
        f"({_VECTORS[column]} @@ %s::tsquery AND {told.format(line=_LINES[column])})" for column in (0, 1)
    )
    return f"({condition})", [lexemes, query.line if is_exact else query.beginning] * 2


def _words(lines: Lines) -> list[Any]:
    everything = "\n".join(lines)  # a phrase does not continue in the next field
    narrow = (lines.name, lines.id, lines.description)
    return [*(_bounded(line.split()) for line in (*narrow, everything)), everything]


def _bounded(words: list[str]) -> list[str]:
    """Return the distinct words, without those that exceed the size of a vector."""
    kept, size = [], 0
    for word in dict.fromkeys(words):
        size += len(word.encode()) + 1
        if size > MAX_BYTES:
            break
        kept.append(word)
    return kept


def _lexemes(term: Term) -> str:
    """Return the words of a term in `tsquery` syntax; they consist only of letters and digits."""
    *before, last = term.words
    return " & ".join([*(f"'{word}'" for word in before), f"'{last}'{':*' if term.begins else ''}"])
