"""Publish the override files in the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from versioning.conf import get_editor
from versioning.editor import gate
from versioning.editor.export_import import ExportImport
from versioning.management.export_import_report import report


class Command(BaseCommand):
    """`manage.py import_overrides [--dry-run]`, and the options of checks of the gate."""

    help = "Publish the override files below EDITOR_CODE_PATH in the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print the changes without making them")
        for name, option in gate.options().items():
            if option.metavar:
                flag = f"--{name.replace('_', '-')}"
                parser.add_argument(flag, metavar=option.metavar, help=option.help)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print a line for each agent and a summary; fails if a file could not be imported."""
        editor = get_editor()
        export_import = ExportImport(editor.code, editor.files)
        gate_options, _others = gate.split_options(options)
        report(self.stdout, export_import.import_files(dry_run=options["dry_run"], **gate_options), **options)
