"""A cursor for statements that are worth preparing: sent often, and dearer to plan than to run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.backends.utils import CursorWrapper
from psycopg_pool import ConnectionPool


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


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """Give out a cursor that has its statements prepared, once for each connection.

    Where no connection is in use yet, one is lent by the pool for this cursor alone: making it the
    connection of the thread, as Django does for a whole request, takes longer than a statement.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        database.ensure_connection()
        with database._prepare_cursor(database.connection.cursor(Translating)) as cursor:  # noqa: SLF001
            yield cursor
    elif database.connection is None and database.pool is not None:
        with database.wrap_database_errors, _lent(database.pool) as connection:
            yield database._prepare_cursor(Preparing(connection))  # noqa: SLF001
    else:
        database.ensure_connection()
        with database._prepare_cursor(Preparing(database.connection)) as cursor:  # noqa: SLF001
            yield cursor


@contextmanager
def _lent(pool: ConnectionPool) -> Iterator[psycopg.Connection]:
    pool.open()
    with pool.connection() as connection:
        yield connection
