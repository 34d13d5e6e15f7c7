"""Emptying the database after a test whose transactions were its own."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from functools import cache

from django.db import connections, transaction
from django.test import TransactionTestCase

from versioning.apps import make_code_workspace

KEPT = {"auth_permission", "django_content_type", "django_migrations"}
"""What migrations write, and no test changes."""


def empty(case: TransactionTestCase) -> None:
    """Delete the rows that a test has left, in place of Django's `flush`, and keep what migrations write.

    `flush` empties all tables, used or not, and then looks for every content type and permission anew, which
    takes longer than most tests. Foreign keys are checked at the commit, so the order does not matter.
    """
    for alias in case._databases_names(include_mirrors=False):
        delete_rows(alias, _tables(alias))
    make_code_workspace()


def delete_rows(alias: str, tables: Iterable[str]) -> None:
    """Delete what is in these tables, which are all that refer to each other, behind the log's back."""
    quote = connections[alias].ops.quote_name
    ask = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})" for name in tables)
    with transaction.atomic(using=alias), closing(connections[alias].create_cursor()) as cursor:
        cursor.execute(ask)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quote(name)}")


@cache
def _tables(alias: str) -> list[str]:
    """Return the names of the tables of all models."""
    names = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return sorted({*names} - KEPT)
