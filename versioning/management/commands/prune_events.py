"""Delete old entries of the log."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from versioning.management.export_import_report import parse_option
from versioning.models import events


class Command(BaseCommand):
    """`manage.py prune_events --before 2030-01-31`."""

    help = "Delete log entries older than a given time."
    requires_system_checks = ()  # they would load the framework, which the log does not need

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--before", required=True, help="ISO 8601, such as 2030-01-31 or 2030-01-31T12:00:00Z"
        )

    def handle(self, *_args: Any, before: str, **_options: Any) -> None:
        """Delete the entries; a follower that has not read them gets an error with its next request."""
        removed = events.prune(parse_option(before, "--before"))
        self.stdout.write(f"Removed {removed} events.")
