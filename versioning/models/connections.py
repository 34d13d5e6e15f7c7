"""Returning connections to the pool."""

from __future__ import annotations

from django.db import close_old_connections, connection


def give_back() -> None:
    """Release this thread's database connection to others while the thread waits for something else.

    Within a transaction it is kept: a test's, or that of a project with `ATOMIC_REQUESTS`.
    """
    if not connection.in_atomic_block:
        close_old_connections()
