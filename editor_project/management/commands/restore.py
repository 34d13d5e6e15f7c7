"""Put the database back to the state of a back-up."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from editor_project import backups
from editor_project.backups.archive import Unusable


class Command(BaseCommand):
    """`manage.py restore FILE`, while the service is stopped."""

    help = "Put the database back to the state of a back-up, while the service is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the argument."""
        parser.add_argument(
            "file", type=Path, help="what `manage.py backup` has written; - is standard input"
        )

    def handle(self, *_args: Any, file: Path, **_options: Any) -> None:
        """Replace what the database holds, all of it or nothing, and migrate it to this release."""
        with TemporaryDirectory(prefix="editor-restore-") as folder:
            if str(file) == "-":
                file = Path(folder, "standard input")  # which cannot be read from its end, as an archive is
                with file.open("wb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
            try:
                found = backups.restore(file)
            except Unusable as error:
                raise CommandError(str(error)) from error
        call_command("migrate", verbosity=0, skip_checks=True)
        self.stdout.write(
            f"Restored the state of {found.made_at}, saved by release {found.version}. "
            "Its log has a new epoch: programs that follow it begin anew."
        )
