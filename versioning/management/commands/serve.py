"""Serve the API and the studio."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from versioning import installed
from versioning.models import tables
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
            help="threads a process, one for each open stream (default %(default)s)",
        )

    def handle(self, *_args: Any, bind: str, workers: int, threads: int, **_options: Any) -> None:
        """Serve until a signal ends the process."""
        address, _, port = bind.rpartition(":")
        if not address or not port.isdigit():
            raise CommandError(f"--bind must look like 127.0.0.1:8000, not {bind!r}")
        if workers < 1 or threads < 1:
            raise CommandError("--workers and --threads must be at least 1")
        _check_settings()
        _check_database()
        _let_go_of_the_database()
        os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
        # Workers are started afresh and read the settings by this name.
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
        Granian(
            "editor_project.wsgi:application",
            address=address.strip("[]"),
            port=int(port),
            interface=Interfaces.WSGI,
            workers=workers,
            blocking_threads=threads,
            log_level=LogLevels.error,
            respawn_failed_workers=True,
        ).serve(spawn_target=partial(_work, _processors(first=int(port))))


def _processors(first: int) -> list[int]:
    """Return the processors that this service may use, in the order in which its workers take them.

    Services on ports that follow one another begin with processors that do.
    """
    if not hasattr(os, "sched_getaffinity"):  # only Linux lets a process say where it runs
        return []
    allowed = sorted(os.sched_getaffinity(0))
    return [allowed[(first + place) % len(allowed)] for place in range(len(allowed))]


def _work(processors: list[int], worker: int, *arguments: Any) -> None:
    """Run the worker of this number, counted from 1, on a processor of its own.

    In a process one thread of Python runs at a time. With several processors each thread that waits
    for the database wakes another one elsewhere, and that takes longer than the answer itself.
    """
    if processors:
        os.sched_setaffinity(0, {processors[(worker - 1) % len(processors)]})
    Granian._spawn_wsgi_worker(worker, *arguments)  # noqa: SLF001  what it starts when it is not told


def _let_go_of_the_database() -> None:
    """Close what is open: the workers are forked, and must not read from one connection together."""
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]


def _check_settings() -> None:
    """Stop at the start over what would only show at the first request."""
    if settings.EDITOR_THROTTLE:
        parse_rate(settings.EDITOR_THROTTLE)
    installed.framework()


def _check_database() -> None:
    """Stop at the start over a database that no request could be answered from."""
    try:
        pending = tables.lack_migrations()
    except DatabaseError as fault:
        raise CommandError(f"The database does not answer: {fault}") from fault
    if pending:
        raise CommandError(tables.NOT_MIGRATED)
