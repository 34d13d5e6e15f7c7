"""Write the overrides that the database publishes into files."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from versioning.conf import get_editor
from versioning.editor.transfer import Transfer
from versioning.management.transferring import report


class Command(BaseCommand):
    """`manage.py export_overrides [--dry-run] [--force]`."""

    help = "Write what the database publishes of code-defined agents into the files below EDITOR_CODE_PATH."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
        parser.add_argument("--force", action="store_true", help="also replace files that say something else")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print a line for each agent and a summary; fails when a file was left alone."""
        editor = get_editor()
        transfer = Transfer(editor.code, editor.files)
        report(self.stdout, transfer.export(dry_run=options["dry_run"], force=options["force"]), **options)
