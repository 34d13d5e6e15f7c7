"""Whether the database has the tables of this release."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

NOT_MIGRATED = "The database lacks migrations: run manage.py migrate."


def lack_migrations() -> bool:
    """Return whether a migration of this release has not been applied; raises `django.db.Error`."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
