"""A database as an earlier release left it, which a test fills and upgrades."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import StateApps

from tests.support.emptying import KEPT, delete_rows
from tests.support.service import new_database

Targets = list[tuple[str, str]]
_earlier: dict[str, sqlite3.Connection] = {}
"""Copies of empty databases of earlier releases: going back takes SQLite seconds."""


def migrate(targets: Targets | None = None) -> StateApps:
    """Migrate to these migrations, or to the newest; return the models as they are then."""
    executor = MigrationExecutor(connection)
    targets = targets or executor.loader.graph.leaf_nodes()
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


@contextmanager
def earlier_release(targets: Targets) -> Iterator[StateApps]:
    """Have an empty database of that release during the block; afterwards it is the one of before."""
    if connection.vendor != "sqlite":
        with _another_database():
            apps = migrate(targets)
            delete_rows("default", {*connection.introspection.table_names()} - KEPT)
            yield apps
        return
    connection.ensure_connection()
    with closing(sqlite3.connect(":memory:")) as before:
        connection.connection.backup(before)
        if str(targets) in _earlier:
            _earlier[str(targets)].backup(connection.connection)
        apps = migrate(targets)
        if str(targets) not in _earlier:
            _earlier[str(targets)] = sqlite3.connect(":memory:")
            connection.connection.backup(_earlier[str(targets)])
        yield apps
        before.backup(connection.connection)


@contextmanager
def _another_database() -> Iterator[None]:
    """Connect to a new database during the block: going back takes PostgreSQL longer than beginning anew."""
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
