"""Serve the API and the studio."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.core.servers.basehttp import get_internal_wsgi_application

from editor_project.server import connections, process
from editor_project.server.background import BackgroundWorker
from editor_project.server.preloading import preload_process
from editor_project.server.worker import Served
from versioning.api import limits
from versioning.conf import get_framework


class Command(BaseCommand):
    """Runs the WSGI application in worker processes, each with a pool of threads."""

    help = "Serve the API and the studio."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="address:port (default %(default)s)")
        parser.add_argument("--workers", type=int, default=1, help="processes (default %(default)s)")
        parser.add_argument(
            "--threads",
            type=int,
            default=40,
            help="threads of a process for reads, and as many for bodies and runs (default %(default)s)",
        )

    def handle(self, *_args: Any, bind: str, workers: int, threads: int, **_options: Any) -> None:
        """Serve until a signal stops the process."""
        if workers < 1 or threads < 1:
            raise CommandError("--workers and --threads must be at least 1")
        get_framework()  # before forking
        possible = connections.possible()
        streams, most = limits.in_event_loop(), possible // 2  # the remaining threads are for other requests
        if settings.EDITOR_STREAMS is not None and not 0 <= streams <= most:
            raise CommandError(f"EDITOR_STREAMS must be from 0 to {most}: use `serve_events` for more")
        process.run(
            Served(get_internal_wsgi_application, threads, min(streams, most), preload_process),
            bind=bind,
            workers=workers,
            pinned=settings.EDITOR_PIN_WORKERS,
            backpressure=possible,
            background=BackgroundWorker if settings.EDITOR_WORKER == "on" else nullcontext,
        )
