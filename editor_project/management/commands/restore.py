"""Restore the database from a back-up."""

from __future__ import annotations

import datetime
import shutil
import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from editor_project import backups
from editor_project.backups.archive import Unusable
from editor_project.backups.postgresql import end_all_sessions, revoke_keys
from versioning.domain.times import parse_moment


class Command(BaseCommand):
    """`manage.py restore FILE`, while the service is stopped."""

    help = "Restore the database from a back-up; stop the service first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="a file written by `manage.py backup`; - is standard input"
        )
        parser.add_argument(
            "--revoke-sessions",
            action="store_true",
            help="sign everyone out, because the back-up has sessions that were ended since",
        )
        parser.add_argument(
            "--revoke-keys-created-before",
            type=_moment,
            metavar="ISO",
            help=(
                "revoke the API keys that are older than this, such as 2026-11-29T12:00:00Z: in the "
                "back-up, keys that were revoked since are still valid"
            ),
        )

    def handle(
        self,
        *_args: Any,
        file: Path,
        revoke_sessions: bool,
        revoke_keys_created_before: datetime.datetime | None,
        **_options: Any,
    ) -> None:
        """Replace the content of the database, all or nothing, and migrate it to this release."""
        with TemporaryDirectory(prefix="editor-restore-") as folder:
            if str(file) == "-":
                file = Path(folder, "standard input")  # which cannot be read from its end, as archives are
                with file.open("wb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
            try:
                manifest = backups.restore(file)
            except Unusable as error:
                raise CommandError(str(error)) from error
        call_command("migrate", verbosity=0, skip_checks=True)
        sentences = []
        if revoke_sessions:
            sentences.append(f" Sessions ended: {end_all_sessions()}.")
        if revoke_keys_created_before is not None:
            sentences.append(f" Keys revoked: {revoke_keys(revoke_keys_created_before)}.")
        self.stdout.write(
            f"Restored the state of {manifest.made_at}, saved by release {manifest.version}. "
            f"Its log has a new epoch: programs that follow it start over.{''.join(sentences)}"
        )


def _moment(text: str) -> datetime.datetime:
    """Read a time; without an offset it is UTC."""
    moment = parse_moment(text, zone=datetime.UTC)
    if moment is None:
        raise ArgumentTypeError(f"{text!r} is no moment, such as 2026-11-29T12:00:00Z")
    return moment
