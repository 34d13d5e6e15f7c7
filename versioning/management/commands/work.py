"""Run a worker, which does due work."""

from __future__ import annotations

import os
import signal
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from versioning.conf import get_framework
from versioning.models import storage
from versioning.worker.running import Worker


class Command(BaseCommand):
    """Runs a worker; any number of them may run."""

    help = (
        "Run a worker until a signal ends it: run due work, detect changed override files, remove old rows."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="run work that is due now and exit; with code 1 if anything failed",
        )

    def handle(self, *_args: Any, once: bool, **_options: Any) -> None:
        """Work until SIGTERM or SIGINT, or once."""
        get_framework()
        worker = Worker()
        if once:
            try:
                succeeded = worker.once()
            except Error as error:
                raise CommandError(f"The database does not answer: {error}") from error
            if not succeeded:
                raise CommandError("Some work has failed; see the log.")
            return
        with suppress(Error):  # the worker waits for a database that is unavailable
            if storage.lack_migrations():
                raise CommandError(storage.NOT_MIGRATED)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        if not worker.run():
            os._exit(1)  # the process would wait for a thread that does not end
