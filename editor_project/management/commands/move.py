"""Move the installation to another database."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections
from django.db.migrations.recorder import MigrationRecorder

from editor_project import moving
from editor_project.database.configured import configure_database
from editor_project.environment import Environment


class Command(BaseCommand):
    """`manage.py move --to URL`, while the service is stopped."""

    help = "Copy the installation to an empty database (SQLite or PostgreSQL) and compare the two."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", required=True, metavar="URL", help="in the form of DATABASE_URL")

    def handle(self, *_args: Any, to: str, **_options: Any) -> None:
        """Create the tables there, copy every row in one transaction, and print counts and digests."""
        try:
            settings = configure_database(Environment().database_of("--to", to))
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        connections.settings[moving.TARGET] = connections.configure_settings({"default": settings})["default"]
        try:
            _make_tables(to)
            tables = moving.move()
        except (Error, moving.Refused) as error:
            raise CommandError(str(error)) from error
        finally:
            connections[moving.TARGET].close()
        for table in tables:
            self.stdout.write(f"{table.name}: {table.rows} rows, {table.digest}")
        self.stdout.write(
            f"Moved {sum(table.rows for table in tables)} rows in {len(tables)} tables; counts and digests "
            "are equal. Start the service with the other DATABASE_URL."
        )


def _make_tables(url: str) -> None:
    """Migrate the other database, in a separate process; raises `CommandError` or `Refused`."""
    target = connections[moving.TARGET]
    tables = target.introspection.table_names()
    if tables and not MigrationRecorder(target).has_table():
        raise CommandError("The other database belongs to another program: name an empty one.")
    moving.refuse_if_in_use()
    result = subprocess.run(  # noqa: S603  this very program
        [sys.executable, sys.argv[0], "migrate", "--verbosity=0", "--skip-checks"],
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise CommandError(f"The tables could not be created there: {result.stderr.strip()}")
