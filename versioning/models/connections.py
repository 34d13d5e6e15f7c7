"""Giving back connections to the database."""

from __future__ import annotations

from django.db import close_old_connections, connection


def give_back() -> None:
    """Let others have this thread's connection while it waits for something else.

    Within a transaction it stays: that is a test's, or a project's with `ATOMIC_REQUESTS`.
    """
    if not connection.in_atomic_block:
        close_old_connections()
