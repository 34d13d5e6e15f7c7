"""Back up the database."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from editor_project import backups
from editor_project.backups.archive import Unusable


class Command(BaseCommand):
    """`manage.py backup FILE`."""

    help = "Back up the database to a file; the service may keep running."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="the back-up, which must not exist yet; - is standard output"
        )

    def handle(self, *_args: Any, file: Path, **_options: Any) -> None:
        """Write the back-up; an existing file is never overwritten."""
        is_piped = str(file) == "-"
        with TemporaryDirectory(prefix="editor-backup-") as folder:
            target = Path(folder, "made") if is_piped else file
            try:
                manifest = backups.back_up(target)
            except Unusable as error:
                raise CommandError(str(error)) from error
            size = target.stat().st_size
            if is_piped:
                with target.open("rb") as content:
                    shutil.copyfileobj(content, sys.stdout.buffer)
        output = self.stderr if is_piped else self.stdout
        output.write(f"{file}: {size} bytes, SHA-256 of the database {manifest.digest}.")
