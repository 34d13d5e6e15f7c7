"""Django's SQLite backend, in which the writers of a process wait in a queue.

SQLite lets one transaction write at a time, and a connection that has to wait polls at intervals that grow to
100 ms: with 16 writers, some wait for seconds. Here the threads of a process begin their transactions in
order of arrival, and only the first of them polls, every millisecond. So a busy process does not delay
another one for long.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from typing import Final

from django.db.backends.sqlite3 import base
from django.db.utils import DatabaseError, OperationalError

DEFAULT_TIMEOUT: Final = 5.0
"""The default time in seconds for which Python's `sqlite3` waits for the lock of a file."""
POLL: Final = 0.001
"""Seconds between two attempts to get the lock of the file from another process."""


class FairLock:
    """A lock that threads acquire in order of arrival.

    Threads that wait for a `threading.Lock` are woken in no particular order, and the one that has just
    released it may take it again before any of them.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def acquire(self, timeout: float) -> bool:
        """Wait for the lock; return whether it was acquired within the timeout, in seconds."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # such as Ctrl-C: this writer stops waiting
            if not self._leave(turn):
                self.release()
            raise
        return not self._leave(turn)

    def _leave(self, turn: threading.Lock) -> bool:
        """Stop waiting; return False if this thread got the lock at the same moment."""
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return True
        return False

    def release(self) -> None:
        """Give the lock to the thread that has waited longest."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


_queues: Final[dict[str, FairLock]] = {}
"""The queue of each database file, by its name."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's database wrapper for SQLite, with that queue.

    The queue is for connections with the transaction mode `IMMEDIATE` or `EXCLUSIVE`, which take the lock
    when they begin; others take it at their first write, as in Django.
    """

    transaction_mode: str | None  # missing in the stubs

    _turn: FairLock | None = None
    """The queue in which this connection is first."""

    def _start_transaction_under_autocommit(self) -> None:
        if self.transaction_mode not in {"IMMEDIATE", "EXCLUSIVE"} or self.is_in_memory_db():
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # the stubs lack it
            return
        timeout = self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT)
        until = time.monotonic() + timeout
        queue = _queues.setdefault(str(self.settings_dict["NAME"]), FairLock())
        if not queue.acquire(timeout):
            raise OperationalError("database is locked")  # SQLite's own message after the same wait
        self._turn = queue
        try:
            with self.wrap_database_errors:
                self._poll(until, timeout)
        except BaseException:
            self._end_turn()
            raise

    def _poll(self, until: float, timeout: float) -> None:
        """Begin the transaction as soon as no other process writes; raises `OperationalError` if too late."""
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._try_begin(last=time.monotonic() >= until):
                time.sleep(POLL)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")

    def _try_begin(self, *, last: bool) -> bool:
        """Begin the transaction; return False if the file is locked, or raise if this is the last attempt.

        Not with Django's cursor, which an error of the database leaves in a reference cycle. The garbage
        collector resets such a cursor, and waits for its connection: in a thread that has the lock of the
        file, for a thread that waits for this lock.
        """
        try:
            self.connection.execute(f"BEGIN {self.transaction_mode}")
        except sqlite3.OperationalError as error:
            if last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]  # as above
        except DatabaseError:
            raise  # Django rolls back
        except BaseException:  # such as `MemoryError`: Django would keep the connection, and with it the lock
            self.close()
            raise
        self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # as above
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # as above
        finally:
            self._end_turn()
