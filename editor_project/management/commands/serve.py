"""Serve the API and the studio."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection, connections
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from editor_project.server import connections as clients
from editor_project.server import ports
from editor_project.server.background import BackgroundWorker
from editor_project.server.processors import Processors
from editor_project.server.worker import work
from versioning.conf import get_framework
from versioning.models import log_position, tables
from versioning.models.throttle import parse_rate


class Command(BaseCommand):
    """Runs the WSGI application in worker processes, each with a pool of threads."""

    help = "Serve the API and the studio."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--bind", default="127.0.0.1:8000", help="address:port (default %(default)s)")
        parser.add_argument("--workers", type=int, default=1, help="processes (default %(default)s)")
        parser.add_argument(
            "--threads",
            type=int,
            default=40,
            help="threads of a process for reads, and as many for bodies and streams (default %(default)s)",
        )

    def handle(self, *_args: Any, bind: str, workers: int, threads: int, **_options: Any) -> None:
        """Serve until a signal stops the process."""
        if workers < 1 or threads < 1:
            raise CommandError("--workers and --threads must be at least 1")
        _check_settings()
        try:
            address, port = ports.parse(bind)
            held = ports.claim(address, port)
        except ports.Unusable as error:
            raise CommandError(str(error)) from error
        with held:
            _check_database()
            _let_go_of_the_database()
            os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
            # Workers are started afresh and read the settings by this name.
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
            processors = Processors.found(settings.EDITOR_PIN_WORKERS)
            server = Granian(
                "editor_project.wsgi:application",
                address=address,
                port=port,
                interface=Interfaces.WSGI,
                workers=workers,
                blocking_threads=threads,
                # Of HTTP/2 granian limits neither the silence of a connection nor the size of its heads.
                http=HTTPModes.http1,
                http1_settings=clients.HTTP,
                backpressure=clients.possible(),
                log_level=LogLevels.error,
                respawn_failed_workers=True,
            )
            with BackgroundWorker() if settings.EDITOR_WORKER == "on" else nullcontext():
                server.serve(spawn_target=partial(work, os.getpid(), workers, threads, processors))


def _let_go_of_the_database() -> None:
    """Close open connections, because forked workers must not share them."""
    connections.close_all()
    log_position.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]


def _check_settings() -> None:
    """Stop before starting if a setting would fail at the first request."""
    if settings.EDITOR_THROTTLE:
        parse_rate(settings.EDITOR_THROTTLE)
    if settings.EDITOR_PIN_WORKERS not in {"auto", "on", "off"}:
        raise CommandError(f"EDITOR_PIN_WORKERS is auto, on or off, not {settings.EDITOR_PIN_WORKERS!r}")
    if settings.EDITOR_WORKER not in {"on", "off"}:
        raise CommandError(f"EDITOR_WORKER is on or off, not {settings.EDITOR_WORKER!r}")
    if settings.EDITOR_KEEP_EVENTS < 0:
        raise CommandError("EDITOR_KEEP_EVENTS must not be negative")
    get_framework()


def _check_database() -> None:
    """Stop before starting if no request could be answered from the database."""
    try:
        pending = tables.lack_migrations()
    except Error as error:
        raise CommandError(f"The database does not answer: {error}") from error
    if pending:
        raise CommandError(tables.NOT_MIGRATED)
