"""A database as an earlier release left it, which a test fills and upgrades."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import StateApps

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
    """Migrate back during the block; afterwards the database is as it was before."""
    if connection.vendor != "sqlite":
        yield migrate(targets)
        migrate()
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
