"""SQLite: an FTS5 table next to the documents of each kind.

The words are separated by blanks; the tokenizer `ascii` splits there and leaves the rest unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import connection, transaction
from django.db.models import Model
from django.db.models.expressions import RawSQL

from versioning.domain.text_search import Term, TextQuery
from versioning.models.text_search.base import (
    LEADING,
    NARROW,
    Documents,
    NewDocument,
    Place,
    TextIndex,
)
from versioning.models.text_search.documents import SearchDocument

_COLUMNS: Final = ("name", "id", "description", "text")
"""The columns, those of `NARROW` first."""

# Only our own names are inserted into the statements.


class Fts5(TextIndex):
    """The words in an FTS5 table."""

    def add(self, documents: Sequence[NewDocument]) -> None:
        """Store documents with their words."""
        if not documents:
            return
        model = type(documents[0][0])
        statement = (
            f"INSERT OR REPLACE INTO {_words_of(model)} (rowid, {', '.join(_COLUMNS)})"  # noqa: S608
            f" VALUES (%s, %s, %s, %s, %s)"
        )
        with transaction.atomic(), connection.cursor() as cursor:
            model._default_manager.bulk_create(document for document, _ in documents)
            cursor.executemany(statement, [(document.pk, *lines) for document, lines in documents])

    def remove(self, documents: Documents) -> None:
        """Delete documents with their words."""
        statement = f"DELETE FROM {_words_of(documents.model)} WHERE rowid = %s"  # noqa: S608
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, [[pk] for pk in documents.values_list("pk", flat=True)])
            documents.delete()

    def found(self, model: type[SearchDocument], query: TextQuery, place: Place = Place.ANYWHERE) -> RawSQL:
        """Return the ids of the documents that have all terms, as a subquery."""
        wanted = " AND ".join(map(_phrase, query.terms))
        table = _words_of(model)
        statement, values = f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [wanted]  # noqa: S608
        if place in NARROW:
            values = [f"{{{_COLUMNS[NARROW.index(place)]}}} : ({wanted})"]
        elif place in LEADING:
            goes_on = " *" if query.beginning != query.line else ""
            values = [f'{{name id}} : ^ "{query.line.strip()}"{goes_on}']
        if place is Place.EXACT:
            statement, values = f"{statement} AND (name = %s OR id = %s)", [*values, query.line, query.line]
        return RawSQL(statement, values)  # noqa: S611


def _words_of(model: type[Model]) -> str:
    return f"{model._meta.db_table}_words"


def _phrase(term: Term) -> str:
    """Return a term in FTS5 syntax; words consist only of letters and digits, so they cannot end a string."""
    return f'"{" ".join(term.words)}"{" *" if term.begins else ""}'
