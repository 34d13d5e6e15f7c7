"""The word storage for the documents of a kind, for the migration that creates the document table."""

from __future__ import annotations

from typing import Any, Final

from django.db import migrations

_NAMES: Final = ("in_name", "in_id", "in_description", "words")
_ON_POSTGRESQL: Final = (
    f"ALTER TABLE {{table}} {', '.join(f'ADD COLUMN {name} tsvector NOT NULL' for name in _NAMES)}",
    "ALTER TABLE {table} ADD COLUMN line text NOT NULL",
    # With statistics of the words, PostgreSQL would read all vectors when a common word is searched.
    f"ALTER TABLE {{table}} {', '.join(f'ALTER COLUMN {name} SET STATISTICS 0' for name in _NAMES)}",
    f"CREATE INDEX {{table}}_words ON {{table}} USING gin ({', '.join(_NAMES)})",
)
_FTS5: Final = "fts5(name, id, description, text, tokenize='ascii', columnsize=0)"
_ON_SQLITE: Final = (f"CREATE VIRTUAL TABLE {{table}}_words USING {_FTS5}",)


class WordsOf(migrations.RunPython):
    """The operation that adds word storage to a document table, as 0014 did."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(self._make, self._drop)

    def _make(self, _apps: Any, editor: Any) -> None:
        on_postgresql = editor.connection.vendor == "postgresql"
        for statement in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
            editor.execute(statement.format(table=self.table))

    def _drop(self, _apps: Any, editor: Any) -> None:
        if editor.connection.vendor != "postgresql":  # where they are columns of the table
            editor.execute(f"DROP TABLE {self.table}_words")


def words_of(table: str) -> WordsOf:
    """Return the migration operation that adds word storage to a document table."""
    return WordsOf(table)
