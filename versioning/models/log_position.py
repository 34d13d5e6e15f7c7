"""The current position of the log. Every request asks for it, so it has to be as fast as the database allows.

`versioning.models.events.position()` gives the same answer through Django, which takes ten times as long.
"""

from __future__ import annotations

import select
import sqlite3
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, connections
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from versioning.models.log import LogPosition

MAX_CONNECTIONS: Final = 8
"""The maximum number of PostgreSQL connections that a process holds for this question alone."""

SILENCE: Final = 1.0
"""Seconds without an answer after which a server counts as lost; an answer usually takes a thousandth of
that."""

PAUSE: Final = 1.0
"""Seconds for which a lost server is not asked again, so that requests do not wait for it one after the
other."""

_QUESTION: Final = f'SELECT position FROM "{LogPosition._meta.db_table}"'  # noqa: S608  the name is ours
_PREPARED: Final = b"log_position"


def position() -> int | None:
    """Return the position of the newest committed entry; 0 if there is none.

    Returns None if nobody can tell: while the database is away, and inside a transaction, which may see
    changes of its own that have no position yet and may be rolled back.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.in_atomic_block:
        return None
    with suppress(Error, sqlite3.Error, psycopg.Error):
        if database.vendor == "postgresql":
            return _postgres.position(database)
        database.ensure_connection()
        row = database.connection.execute(_QUESTION).fetchone()
        return row[0] if row else 0
    return None


def close() -> None:
    """Close the connections for this question; they are opened again when needed."""
    _postgres.close()


class _Postgres:
    """The connections of a process for this question.

    Django's pool checks a connection before handing it out, which is a second round trip. Here the question
    itself shows whether the connection is dead; then it is asked once more on a new one.
    """

    def __init__(self) -> None:
        self._connections: SimpleQueue[_Connection] = SimpleQueue()
        for _ in range(MAX_CONNECTIONS):
            self._connections.put(_Connection())
        self._lost_until = 0.0

    def position(self, database: Any) -> int | None:
        """Return the position; None while the server counts as lost. Raises `psycopg.Error`."""
        if time.monotonic() < self._lost_until:
            return None
        try:
            connection = self._connections.get(timeout=SILENCE)
        except Empty:
            return None
        try:
            return self._asked(connection, database)
        except psycopg.Error:
            self._lost_until = time.monotonic() + PAUSE
            raise
        finally:
            self._connections.put(connection)

    def _asked(self, connection: _Connection, database: Any) -> int:
        if connection.is_open:
            try:
                return connection.ask()
            except psycopg.OperationalError:
                # PostgreSQL was restarted since. A silent server is different: it is not waited for twice.
                connection.close()
        connection.open(database.get_connection_params())
        return connection.ask()

    def close(self) -> None:
        """Close every connection that is not in use."""
        for _ in range(self._connections.qsize()):
            with suppress(Empty):
                connection = self._connections.get_nowait()
                connection.close()
                self._connections.put(connection)


class Silent(psycopg.Error):
    """The server has not answered in time."""


class _Connection:
    """One connection, used for this question only.

    It uses psycopg's libpq bindings, because the additional work of a cursor takes as long as the server
    does.
    """

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was opened; the server may be gone all the same."""
        return self._connection is not None

    def open(self, parameters: dict[str, Any]) -> None:
        """Connect and prepare the statement; raises `psycopg.Error` if there is no server."""
        self._connection = psycopg.connect(**{**parameters, "autocommit": True})
        self._server = self._connection.pgconn
        self._poll = select.poll()
        self._poll.register(self._server.socket, select.POLLIN)
        self._server.send_prepare(_PREPARED, _QUESTION.encode())
        self._result(ExecStatus.COMMAND_OK)

    def ask(self) -> int:
        """Return the position; raises `Silent`, or `psycopg.OperationalError` if the connection is dead."""
        self._server.send_query_prepared(_PREPARED, None)
        result = self._result(ExecStatus.TUPLES_OK)
        return int(result.get_value(0, 0) or 0) if result.ntuples else 0

    def close(self) -> None:
        """Close it, if it is open."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _result(self, expected: ExecStatus) -> PGresult:
        """Return the server's answer; raises as `ask` does."""
        self._server.flush()
        while self._server.is_busy():
            if not self._poll.poll(SILENCE * 1000):
                self.close()
                raise Silent
            self._server.consume_input()
        found = None
        while (result := self._server.get_result()) is not None:
            found = result
        if found is None or found.status != expected:
            raise psycopg.OperationalError("the position of the log could not be read")
        return found


_postgres: Final = _Postgres()
