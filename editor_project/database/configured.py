"""The project's additions to Django's settings of a database."""

from __future__ import annotations

from typing import Any


def configure_database(database: dict[str, Any], *, is_pooled: bool = False) -> dict[str, Any]:
    """Return the settings of the database of a URL, with the project's backend and options.

    `is_pooled` means that PostgreSQL is behind a pooler in transaction mode. Then a connection keeps no state
    between transactions: no prepared statements, cursors or settings.
    """
    if database["ENGINE"] == "django.db.backends.sqlite3":
        # IMMEDIATE takes the write lock when a transaction begins: with the default mode two transactions
        # that read first and write later end in "database is locked". Writers also wait in a queue instead of
        # polling. Every thread has a connection, and the system keeps the file's pages for all of them: a
        # cache of the default size for each would be most of what a process with 40 threads grows to. Instead
        # the threads read the first GiB of the file where the system has it: a third less time for lists.
        database["ENGINE"] = "editor_project.database.sqlite"
        database["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            " PRAGMA cache_size=-256; PRAGMA mmap_size=1073741824;",
        }
        database["CONN_MAX_AGE"] = None
        return database
    # Django's backend with a pool that detects within seconds that the server is down or back.
    database["ENGINE"] = "editor_project.database.postgresql"
    database["OPTIONS"] = {
        # Without these, dropped packets go unnoticed.
        "connect_timeout": 2,
        "keepalives_idle": 10,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
        **database.get("OPTIONS", {}),
        # A request that finds no cached answer waits twice, so that it has an answer after five seconds. The
        # pool's attempts become rarer the longer the server is down, so they are abandoned early, and the
        # next request begins new ones.
        "pool": {"min_size": 1, "max_size": 16, "timeout": 2, "reconnect_timeout": 2},
        "prepare_threshold": None if is_pooled else 0,  # for constant statements: `models.statements`
    }
    database["DISABLE_SERVER_SIDE_CURSORS"] = is_pooled
    # A pool is better than a connection per thread; it requires Django's persistent connections to be
    # off.
    database["CONN_MAX_AGE"] = 0
    return database
