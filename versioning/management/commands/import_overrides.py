"""Publish in the database what the override files hold."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from versioning.conf import get_editor
from versioning.editor.transfer import Transfer
from versioning.management.transferring import report


class Command(BaseCommand):
    """`manage.py import_overrides [--dry-run]`."""

    help = "Publish in the database what the files below EDITOR_CODE_PATH hold of code-defined agents."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the option."""
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print a line for each agent and a summary; fails when a file could not be taken in."""
        editor = get_editor()
        transfer = Transfer(editor.code, editor.files)
        report(self.stdout, transfer.take_in(dry_run=options["dry_run"]), **options)
