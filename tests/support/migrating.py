"""A database as an earlier release left it, which a test fills and upgrades."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import StateApps

from tests.support.emptying import delete_rows
from tests.support.service import new_database

Targets = list[tuple[str, str]]


def migrate(targets: Targets) -> StateApps:
    """Migrate to these migrations, and return the models as they are then."""
    apps: StateApps = MigrationExecutor(connection).migrate(targets).apps
    return apps


@contextmanager
def earlier_release(targets: Targets) -> Iterator[StateApps]:
    """Have an empty database of that release during the block; afterwards it is the one of before.

    It begins with the first migration: going back from the newest takes many times as long.
    """
    with _another_database():
        apps = migrate(targets)
        delete_rows(connection.introspection.table_names())
        yield apps


@contextmanager
def _another_database() -> Iterator[None]:
    """Have a database without tables during the block."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(":memory:")) as before, closing(sqlite3.connect(":memory:")) as nothing:
            connection.connection.backup(before)
            nothing.backup(connection.connection)
            yield
            before.backup(connection.connection)
        return
    mine = connection.settings_dict["NAME"]
    with new_database(Path()) as url:
        _connect_to(url.rpartition("/")[2])
        try:
            yield
        finally:
            _connect_to(mine)


def _connect_to(name: str) -> None:
    connection.close()
    connection.close_pool()
    connection.settings_dict["NAME"] = name
