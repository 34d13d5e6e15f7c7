"""Emptying the database after a test whose transactions were its own."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from django.db import connection, transaction

KEPT = {"auth_permission", "django_content_type", "django_migrations"}
"""What migrations write, and no test changes."""


def delete_rows(tables: Iterable[str] | None = None) -> None:
    """Delete what is in these tables, or those of all models, behind the log's back.

    Django's `flush` empties all tables, used or not, and then looks for every content type and permission
    again, which takes longer than most tests. Foreign keys are checked at the commit: the order is free.
    """
    quote = connection.ops.quote_name
    names = {*(tables or connection.introspection.django_table_names(only_existing=False))} - KEPT
    ask = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})" for name in names)
    with transaction.atomic(), closing(connection.create_cursor()) as cursor:
        cursor.execute(ask)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quote(name)}")
