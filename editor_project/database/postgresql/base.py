"""Django's PostgreSQL backend, with a pool that detects within seconds that the server is down or back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Self

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError
from psycopg.abc import PQGen
from psycopg.errors import _WaitTimeout
from psycopg_pool import ConnectionPool

CHECK_SECONDS: Final = 1.0
"""The seconds that an idle connection may take to prove that it is alive."""

CONNECT_SECONDS: Final = 2.0
"""The seconds that the server may take for the first statement on a new connection."""

AWAY_SECONDS: Final = 0.25
"""The seconds that a request waits for a connection after the previous request timed out."""

MARGIN: Final = 0.5
"""The additional seconds, beyond the statement limit, to wait for the server's answer."""


class Silent(OperationalError):
    """The server did not answer in time."""


class PatientConnection(Connection[Any]):
    """A connection on which no wait is endless once statements are limited."""

    statement_seconds: ClassVar[float | None] = None
    """The time limit of a statement in this process; None for no limit."""

    patience: float | None = None
    """The seconds to wait for the next statement."""

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        connection = super().connect(conninfo, **kwargs)
        connection.patience = CONNECT_SECONDS
        connection.is_pooled = connection.prepare_threshold is None or connection.has_other_backend()
        if connection.is_pooled:
            # Prepared statements and session settings would stay on a connection that others get next.
            connection.prepare_threshold = None
            limit = cls.statement_seconds
            connection.patience = None if limit is None else limit + MARGIN
            return connection
        # Compiling the condition of a page of the log takes half a second, and running it 10 ms.
        connection.execute("SELECT set_config('jit', 'off', false)")
        connection.patience = None
        if cls.statement_seconds is not None:
            connection.limit(cls.statement_seconds)
        return connection

    is_pooled: bool = False
    """Whether the server is, or may be, behind a pooler in transaction mode."""

    def has_other_backend(self) -> bool:
        """Return whether another process answers than the one that accepted, because of a pooler."""
        row = self.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        return row is not None and row[0] != self.info.backend_pid

    def limit(self, seconds: float) -> None:
        self.patience = seconds + MARGIN
        self.execute("SELECT set_config('statement_timeout', %s, false)", [str(round(seconds * 1000))])

    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server; raises `Silent` if it does not answer in time."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except _WaitTimeout:
            self.close()
            pool = self._pool
            if isinstance(pool, Pool):
                # Its attempts to connect also reveal that the server is down, but only after seconds.
                pool.is_silent = True
            raise Silent("the database does not answer") from None

    def check(self) -> None:
        """Raise `OperationalError` unless the server answers immediately."""
        usual, self.patience = self.patience, CHECK_SECONDS
        try:
            ConnectionPool.check_connection(self)
        finally:
            self.patience = usual


class Pool(ConnectionPool[PatientConnection]):
    """A pool for a server that may be down.

    If one connection is dead, older ones are assumed dead as well; and while the server is down, requests
    hardly wait.
    """

    _errors = 0  # the number of failed attempts when a connection was last obtained
    is_silent = False  # no connection was obtained since the server left a statement unanswered

    def getconn(self, timeout: float | None = None) -> PatientConnection:
        """Return a live connection; raises `PoolTimeout`, immediately while the server is down."""
        is_away = self.is_silent or self._stats[self._CONNECTIONS_ERRORS] > self._errors
        connection = super().getconn(AWAY_SECONDS if is_away else timeout)
        self.is_silent = False
        self._errors = self._stats[self._CONNECTIONS_ERRORS]
        return connection

    @staticmethod
    def check_or_drain(connection: PatientConnection) -> None:
        """Check a connection; if it is dead, also drop older ones."""
        try:
            connection.check()
        except Exception:
            pool = connection._pool  # noqa: SLF001  there is no public way to it
            if isinstance(pool, Pool):
                pool.drain()
            raise


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's database wrapper for PostgreSQL, with that pool."""

    # Missing in Django's stubs.
    _connection_pools: ClassVar[dict[str, ConnectionPool[Any]]]
    _configure_connection: Callable[[Connection[Any]], None]

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection as Django does, and use no server-side cursors behind a pooler."""
        connection = super().get_new_connection(conn_params)
        if getattr(connection, "is_pooled", False):
            self.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
        return connection

    @property
    def pool(self) -> ConnectionPool[Any] | None:
        options = self.settings_dict["OPTIONS"].get("pool")
        if options and self.alias not in self._connection_pools:
            new_pool = Pool(
                kwargs={**self.get_connection_params(), "autocommit": True},
                connection_class=PatientConnection,
                open=False,
                configure=self._configure_connection,
                check=Pool.check_or_drain,
                **options,
            )
            self._connection_pools.setdefault(self.alias, new_pool)
        pool: ConnectionPool[Any] | None = super().pool
        return pool


def limit_statements(seconds: float) -> None:
    """Limit every statement of this process from now on; for web servers, not for commands."""
    PatientConnection.statement_seconds = seconds or None
