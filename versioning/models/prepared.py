"""A cursor for statements that are worth preparing: sent often, and dearer to plan than to run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.backends.utils import CursorWrapper


class Preparing(psycopg.Cursor[Any]):
    """A cursor of PostgreSQL that has every statement prepared at once; those of Django never do."""

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Any:
        """Run a statement."""
        return super().execute(query, params, prepare=True)


class Translating(SQLiteCursorWrapper):
    """A cursor of SQLite, which prepares by itself, that puts every statement into its form only once."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        """Return the statement with the parameters as SQLite writes them; they have no names."""
        return _translated(query)


@lru_cache(maxsize=256)
def _translated(query: str) -> str:
    nobody = cast("SQLiteCursorWrapper", None)  # the method needs no cursor
    return SQLiteCursorWrapper.convert_query(nobody, query)


def prepared_cursor() -> CursorWrapper:
    """Return a cursor that has its statements prepared, once for each connection."""
    database: Any = connections[DEFAULT_DB_ALIAS]
    database.ensure_connection()
    is_postgres = database.vendor == "postgresql"
    cursor = Preparing(database.connection) if is_postgres else database.connection.cursor(Translating)
    prepared: CursorWrapper = database._prepare_cursor(cursor)  # noqa: SLF001  with Django's wrappers
    return prepared
