"""Write the published overrides of the database to files."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from versioning.conf import get_editor
from versioning.editor.export_import import ExportImport
from versioning.management.export_import_report import report


class Command(BaseCommand):
    """`manage.py export_overrides [--dry-run] [--force]`."""

    help = "Write the published overrides of code-defined agents to files below EDITOR_CODE_PATH."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print the changes without making them")
        parser.add_argument("--force", action="store_true", help="also replace files with other content")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print a line for each agent and a summary; fails if a file was refused."""
        editor = get_editor()
        export_import = ExportImport(editor.code, editor.files)
        report(
            self.stdout,
            export_import.export_files(dry_run=options["dry_run"], force=options["force"]),
            **options,
        )
