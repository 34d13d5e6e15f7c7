"""A cursor for statements that are worth preparing: sent often, and dearer to plan than to run."""

from __future__ import annotations

from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper


class Preparing(psycopg.Cursor[Any]):
    """A cursor of PostgreSQL that has every statement prepared at once."""

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Any:
        """Run a statement."""
        return super().execute(query, params, prepare=True)


def prepared_cursor() -> CursorWrapper:
    """Return a cursor that has its statements prepared, once for each connection.

    SQLite's driver does so by itself; the cursors that Django makes for PostgreSQL never do.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        return cast("CursorWrapper", database.cursor())
    database.ensure_connection()
    cursor = Preparing(database.connection)
    prepared: CursorWrapper = database._prepare_cursor(cursor)  # noqa: SLF001  with Django's wrappers
    return prepared
