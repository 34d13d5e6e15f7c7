"""The parent of the workers: the common part of `serve` and `serve_events`."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from django.core.management.base import CommandError
from django.db import Error, connection, connections
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from editor_project.server import connections as clients
from editor_project.server import exporter, ports
from editor_project.server.processors import Processors
from editor_project.server.worker import Served, work
from versioning.models import log_position, storage


def run(
    served: Served,
    *,
    bind: str,
    workers: int,
    pinned: str,
    backpressure: int,
    background: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Run workers on an address until a signal stops this process; raises `CommandError` if it cannot begin.

    `pinned` is passed to `Processors.detect`, `backpressure` is the number of connections that each worker
    accepts. The context manager `background` is entered when everything else is ready.
    """
    try:
        address, port = ports.parse(bind)
        listener = ports.claim(address, port)
    except ports.Unusable as error:
        raise CommandError(str(error)) from error
    with listener:
        _check_database()
        close_connections()
        os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
        # Workers are spawned and read the settings by this name.
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
        processors = Processors.detect(pinned)
        server = Granian(
            "editor_project.wsgi:application",  # checked by granian; a worker loads its application itself
            address=address,
            port=port,
            interface=Interfaces.WSGI,
            workers=workers,
            blocking_threads=served.threads,
            # For HTTP/2, granian limits neither the silence of a connection nor the size of its heads.
            http=HTTPModes.http1,
            http1_settings=clients.HTTP,
            backpressure=backpressure,
            log_level=LogLevels.error,
            respawn_failed_workers=True,
        )
        # A worker's garbage collection would write into memory shared with this process.
        gc.collect()
        gc.freeze()
        with exporter.serve_metrics(), background():
            server.serve(spawn_target=partial(work, os.getpid(), workers, served, processors))


def close_connections() -> None:
    """Close open connections, because forked workers must not share them."""
    connections.close_all()
    log_position.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]


def _check_database() -> None:
    """Fail before starting if no request could be answered from the database."""
    try:
        pending = storage.lack_migrations()
    except Error as error:
        cause = "the disk is full" if storage.says_full(error) else error
        raise CommandError(f"The database does not answer: {cause}") from error
    if pending:
        raise CommandError(storage.NOT_MIGRATED)
