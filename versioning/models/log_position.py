"""The current position of the log. Every request reads it, so this must be as fast as the database allows.

`versioning.models.events.position()` gives the same answer through Django, which takes ten times as long.
"""

from __future__ import annotations

import select
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, local
from typing import Any, Final

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, connections
from psycopg.conninfo import make_conninfo
from psycopg.pq import ExecStatus, PGconn, PollingStatus
from psycopg.pq.abc import PGconn as Server
from psycopg.pq.abc import PGresult

from versioning.models.log import LogPosition

SILENCE: Final = 0.5
"""Seconds after which a silent server counts as lost: an answer takes a thousandth of that."""

CONNECT_SECONDS: Final = 1.0
"""Seconds within which a server must accept a new connection. libpq's own limit is at least two."""

PAUSE: Final = 1.0
"""Seconds for which a lost server is not tried again: then one request tries it, while no other waits."""

_QUESTION: Final = f'SELECT position FROM "{LogPosition._meta.db_table}"'  # noqa: S608  the name is ours
_PREPARED: Final = b"log_position"
NOT_OF_LIBPQ: Final = frozenset({"context", "cursor_factory", "prepare_threshold"})


def position() -> int | None:
    """Return the position of the newest committed entry; 0 if there is none.

    Returns None if it is unknown: while the database is unavailable, and inside a transaction, which may see
    its own changes that have no position yet and may be rolled back.
    """
    try:
        database = _own.database
    except AttributeError:
        database = database_of_thread()
    if database.in_atomic_block:
        return None
    with suppress(Error, sqlite3.Error, psycopg.Error):
        if database.vendor == "postgresql":
            return _postgresql.ask(database)
        database.ensure_connection()
        row = database.connection.execute(_QUESTION).fetchone()
        return row[0] if row else 0
    return None


def database_of_thread() -> Any:
    """Return Django's original connection of this thread to the database with the log."""
    try:
        return _own.database
    except AttributeError:
        _own.database = connections[DEFAULT_DB_ALIAS]
        return _own.database


def turn_to(alias: str) -> None:
    """Send all reads of this thread to a replica until `turn_back`."""
    database_of_thread()  # stays the primary
    connections[DEFAULT_DB_ALIAS] = connections[alias]
    _own.replica = alias


def turn_back() -> str | None:
    """Send reads to the primary again; return the replica that this thread was using, if any."""
    replica: str | None = getattr(_own, "replica", None)
    if replica is not None:
        connections[DEFAULT_DB_ALIAS] = database_of_thread()
        _own.replica = None
    return replica


@contextmanager
def primary() -> Iterator[None]:
    """Read from the primary within this block, as required for values that the process caches."""
    replica = turn_back()
    try:
        yield
    finally:
        if replica is not None:
            turn_to(replica)


def close() -> None:
    """Close the connection for this query; it is opened again when needed."""
    _postgresql.close()


class PositionQuery:
    """Queries PostgreSQL in one thread at a time, on behalf of all threads that are waiting.

    While a thread waits for the server, another thread gets the interpreter lock; with many threads, getting
    it back costs more than the query. The answer to any query sent after a thread has arrived is valid for
    it.

    Django's pool checks a connection before handing it out, which is a second round trip. Here the query
    itself shows whether the connection is dead; then it is repeated once on a new one.
    """

    def __init__(self) -> None:
        self._turn = Lock()
        self._begun = 0  # the number of queries so far; the last one may still be running
        self._answer: int | None = None
        self._connection = _Connection()
        self._loss = Lock()
        self._losses = 0
        self._asked_again_at = 0.0
        """When to try a lost server again; 0 while it is not lost."""

    def ask(self, database: Any) -> int | None:
        """Return the position; None if the server is lost. Raises `psycopg.Error` if it becomes lost."""
        before, losses = self._begun, self._losses
        if self._is_lost():
            return None
        with self._turn:
            if self._losses != losses:  # found by another thread while this one waited
                return None
            if self._begun == before:
                self._begun += 1
                self._answer = None
                self._answer = self._read_position(database)
            return self._answer

    def _is_lost(self) -> bool:
        """Return whether the server counts as lost; after each pause, one caller gets False and tries it."""
        if not self._asked_again_at:
            return False
        with self._loss:
            now = time.monotonic()
            if self._asked_again_at > now:
                return True
            self._asked_again_at = now + PAUSE
            return False

    def _read_position(self, database: Any) -> int:
        try:
            position = self._query_server(database)
        except psycopg.Error:
            self.lose()
            raise
        self._asked_again_at = 0.0
        return position

    def lose(self) -> None:
        """Do not query the server for a second."""
        self._losses += 1
        self._asked_again_at = time.monotonic() + PAUSE

    def _query_server(self, database: Any) -> int:
        if self._connection.is_open:
            try:
                return self._connection.ask()
            except psycopg.OperationalError:
                # PostgreSQL was restarted in the meantime; a silent server is not waited for twice.
                self._connection.close()
        self._connection.open(database.get_connection_params())
        return self._connection.ask()

    def close(self) -> None:
        with self._turn:
            self._connection.close()


class Silent(psycopg.Error):
    """The server has not answered in time."""


class _Connection:
    """A connection used only for this query.

    It uses psycopg's libpq bindings, because the overhead of a cursor takes as long as the server does.
    """

    def __init__(self) -> None:
        self._server: Server | None = None
        self._is_prepared = True

    @property
    def is_open(self) -> bool:
        """Whether it was opened; the server may still be gone."""
        return self._server is not None

    def open(self, parameters: dict[str, Any]) -> None:
        """Connect and prepare the statement; raises `psycopg.Error` if there is no server."""
        self._server = _connect(parameters)
        self._poll = select.poll()
        self._poll.register(self._server.socket, select.POLLIN)
        self._is_prepared = False
        if parameters.get("prepare_threshold", 0) is not None:
            # A pooler may pass each statement to another process than the one that accepted the connection.
            self._server.send_query(b"SELECT pg_backend_pid()")
            answered_by = self._result(self._server, ExecStatus.TUPLES_OK).get_value(0, 0)
            self._is_prepared = int(answered_by or 0) == self._server.backend_pid
        if self._is_prepared:
            self._server.send_prepare(_PREPARED, _QUESTION.encode())
            self._result(self._server, ExecStatus.COMMAND_OK)

    def ask(self) -> int:
        """Return the position; raises `Silent`, or `psycopg.OperationalError` when the connection is dead."""
        if self._server is None:
            raise psycopg.OperationalError("the connection is closed")
        if self._is_prepared:
            self._server.send_query_prepared(_PREPARED, None)
        else:  # behind a pooler, the next query may reach another connection
            self._server.send_query(_QUESTION.encode())
        result = self._result(self._server, ExecStatus.TUPLES_OK)
        return int(result.get_value(0, 0) or 0) if result.ntuples else 0

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.finish()

    def _result(self, server: Server, expected: ExecStatus) -> PGresult:
        """Return the server's answer; raises as `ask` does."""
        server.flush()
        while server.is_busy():
            if not self._poll.poll(SILENCE * 1000):
                self.close()
                raise Silent
            server.consume_input()
        last_result = None
        while (result := server.get_result()) is not None:
            last_result = result
        if last_result is None or last_result.status != expected:
            self.close()
            raise psycopg.OperationalError("the position of the log could not be read")
        return last_result


def _connect(parameters: dict[str, Any]) -> Server:
    """Connect with Django's parameters; raises `psycopg.Error` if the server does not accept in time."""
    options = {name: value for name, value in parameters.items() if name not in NOT_OF_LIBPQ}
    server = PGconn.connect_start(make_conninfo(**options).encode())
    until = time.monotonic() + CONNECT_SECONDS
    while (state := server.connect_poll()) != PollingStatus.OK:
        # Another host has another socket.
        poll = select.poll()
        if state != PollingStatus.FAILED:
            poll.register(server.socket, select.POLLIN if state == PollingStatus.READING else select.POLLOUT)
        remaining = until - time.monotonic()
        if state == PollingStatus.FAILED or remaining <= 0 or not poll.poll(remaining * 1000):
            server.finish()
            raise psycopg.OperationalError("no connection for the position of the log")
    server.nonblocking = 1
    return server


_postgresql: Final = PositionQuery()
_own: Final = local()
"""The `database` of this thread; looking it up in Django takes as long as SQLite's answer."""
