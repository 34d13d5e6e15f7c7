"""Whether the tables are those that this release expects."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

NOT_MIGRATED = "The database lacks migrations: run manage.py migrate."


def lack_migrations() -> bool:
    """Say whether a migration of this release was not applied; raises `django.db.Error` without an answer."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
