"""Back up the database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from editor_project import backups
from editor_project.backups.archive import Unusable


class Command(BaseCommand):
    """`manage.py backup FILE`."""

    help = "Back up the database into a file, also while the service runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the argument."""
        parser.add_argument("file", type=Path, help="the back-up, which must not exist yet")

    def handle(self, *_args: Any, file: Path, **_options: Any) -> None:
        """Write the back-up; an existing file is never overwritten."""
        try:
            made = backups.back_up(file)
        except Unusable as error:
            raise CommandError(str(error)) from error
        size = file.stat().st_size
        self.stdout.write(f"{file}: {size} bytes, SHA-256 of the database {made.digest}.")
