"""Serve the stream of events to thousands of clients."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from editor_project.server import connections, process
from editor_project.server.worker import Served

APPLICATION: Final = "editor_project.wsgi_events.application"

THREADS: Final = 4
"""Threads for opening streams and checking rights; an open stream needs no thread."""

SPARE: Final = 100
"""Connections beyond the streams, for health checks and for clients that are refused."""


class Command(BaseCommand):
    """Runs one process that serves only `GET /events/stream` and the health checks."""

    help = "Serve the stream of events (GET /events/stream), for a proxy to route to."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8010", help="address:port (default %(default)s)")
        parser.add_argument(
            "--streams",
            type=int,
            default=4000,
            help=("the maximum number of open streams (default %(default)s)"),
        )

    def handle(self, *_args: Any, bind: str, streams: int, **_options: Any) -> None:
        """Serve until a signal stops the process."""
        if streams < 1:
            raise CommandError("--streams must be at least 1")
        if not apps.is_installed("capabilities.delivery"):
            raise CommandError("INSTALLED_APPS lacks the application of the streams, `delivery`")
        possible = connections.possible(streams + SPARE)
        if possible < streams + SPARE:
            raise CommandError(
                f"The system lets this process open too few files for {streams} streams: "
                f"raise its limit (ulimit -n), or choose --streams {possible - SPARE}"
            )
        served = Served(partial(import_string, APPLICATION), THREADS, streams)
        process.run(served, bind=bind, workers=1, pinned="off", backpressure=possible)
