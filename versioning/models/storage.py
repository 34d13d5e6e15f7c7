"""Whether the disk of the database is full: recognising its errors, and sharing the state among processes.

A process detects it when a save fails. It records that for all processes forked from the same parent, until a
save succeeds. Meanwhile `is_full` itself tries to write, because a load balancer sends no saves to a process
that is not ready.
"""

from __future__ import annotations

import base64
import mmap
import os
import sqlite3
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.db import Error, OperationalError, close_old_connections, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from psycopg.errors import DiskFull

SECONDS_BETWEEN_TRIES: Final = 1.0
MAX_TRIED: Final = 1024 * 1024
"""The maximum number of bytes of an attempt."""
_PAGES: Final = 64 * 1024
"""SQLite needs at most this many bytes at a time for the files next to the database."""
_NEXT_TRY: Final = struct.Struct("d")
_shared: Final = mmap.mmap(-1, _NEXT_TRY.size + 1)
"""When to try next, in seconds of the monotonic clock, and whether a save has failed."""
_NOTED: Final = _NEXT_TRY.size


def says_full(error: BaseException) -> bool:
    """Return whether an error of Django's database layer means that a disk is full."""
    cause = error.__cause__
    if not isinstance(cause, sqlite3.Error):
        return isinstance(cause, DiskFull)
    kind = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if kind != sqlite3.SQLITE_IOERR:
        return kind == sqlite3.SQLITE_FULL
    try:  # any write error may be due to a full disk
        disk = os.statvfs(Path(str(connection.settings_dict["NAME"])).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _PAGES


def note_failed_save() -> None:
    """Note that a save has failed because the disk is full."""
    if not _shared[_NOTED]:
        _NEXT_TRY.pack_into(_shared, 0, time.monotonic() + SECONDS_BETWEEN_TRIES)
        _shared[_NOTED] = 1


def note_saved() -> None:
    if _shared[_NOTED]:
        _shared[_NOTED] = 0


def is_full() -> bool:
    """Return whether saves fail because the disk is full; raises Django's `Error` for other failures.

    Once a second it tries to write as much as the largest request could, at most `MAX_TRIED`.
    """
    if not _shared[_NOTED]:
        return False
    now = time.monotonic()
    if now >= _NEXT_TRY.unpack_from(_shared)[0]:
        _NEXT_TRY.pack_into(_shared, 0, now + SECONDS_BETWEEN_TRIES)
        try:
            _write_and_remove(min(settings.EDITOR_MAX_BODY, MAX_TRIED))
        except OperationalError as error:
            if not says_full(error):
                raise
        else:
            note_saved()
    return bool(_shared[_NOTED])


class OptionalWrite:
    """The result of `optional`."""

    is_committed = False
    """Known once the block has ended."""


@contextmanager
def optional() -> Iterator[OptionalWrite]:
    """Run the secondary writes of a read, such as the use of a key; skip them if the disk is full."""
    write = OptionalWrite()
    try:
        with transaction.atomic():
            yield write
        write.is_committed = True
    except OperationalError as error:
        if not says_full(error):
            raise


def _write_and_remove(size: int) -> None:
    """Write and commit this many incompressible bytes, then remove them."""
    model: Any = apps.get_model("versioning.IdempotentRequest")
    text = base64.b64encode(os.urandom(size * 3 // 4)).decode()
    with transaction.atomic():
        row = model.objects.create(caller="readyz", key=uuid.uuid4().hex, begun_at=timezone.now(), body=text)
    with suppress(Error):  # it is removed with the expired answers
        row.delete()


NOT_MIGRATED = "The database lacks migrations: run manage.py migrate."


def lack_migrations() -> bool:
    """Return whether a migration of this release has not been applied; raises `django.db.Error`."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def give_back() -> None:
    """Release this thread's database connection while the thread waits for something else.

    Within a transaction it is kept: a test's, or that of a project with `ATOMIC_REQUESTS`.
    """
    if not connection.in_atomic_block:
        close_old_connections()
