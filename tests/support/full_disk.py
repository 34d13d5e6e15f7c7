"""A database whose disk is full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

LONG: str = "a text that does not fit " * 20_000
"""More than SQLite has left on pages that it has already."""

_FULL = """
CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""


@contextmanager
def full_disk(*tables: str, statements: str = "INSERT OR UPDATE") -> Iterator[None]:
    """Let PostgreSQL refuse these statements for these tables, or for any; let SQLite's file not grow.

    The error is that of the database itself, as on a disk without space. For tests with `transaction=True`,
    because SQLite then rolls the whole transaction back.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("VACUUM")  # else pages of deleted rows are used again
            before, size = (
                cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("max_page_count", "page_count")
            )
            cursor.execute(f"PRAGMA max_page_count = {size}")
            try:
                yield
            finally:
                cursor.execute(f"PRAGMA max_page_count = {before}")
            return
        full = tables or connection.introspection.table_names(cursor)
        trigger = f"full_disk BEFORE {statements}"
        cursor.execute(_FULL)
        for table in full:
            cursor.execute(
                f'CREATE TRIGGER {trigger} ON "{table}" FOR EACH ROW EXECUTE FUNCTION disk_is_full()'
            )
        try:
            yield
        finally:
            cursor.execute("DROP FUNCTION disk_is_full() CASCADE")
