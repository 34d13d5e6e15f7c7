"""Django's SQLite backend, in which the writers of a process wait in a queue.

SQLite lets one transaction write at a time, and a connection that has to wait asks again and again, at
intervals that grow to 100 ms: of 16 writers the unlucky ones wait for seconds. Here the threads of a process
begin their transactions in the order in which they asked, and only the first of them asks SQLite, which is
left to choose between processes.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from django.db.backends.sqlite3 import base
from django.db.utils import DatabaseError, OperationalError

DEFAULT_TIMEOUT: Final = 5.0
"""How many seconds Python's `sqlite3` waits for the lock of a file where the options say nothing else."""


class FairLock:
    """A lock that threads are given in the order in which they asked for it.

    Threads that wait for a `threading.Lock` are woken in no particular order, and the one that has just
    released it may take it again before any of them.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def acquire(self, timeout: float) -> bool:
        """Wait for one's turn; return whether it came within the timeout, in seconds."""
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
        except BaseException:  # such as Ctrl-C: no writer waits here any more
            if not self._leave(turn):
                self.release()
            raise
        return not self._leave(turn)

    def _leave(self, turn: threading.Lock) -> bool:
        """Wait no longer; return False if the turn was given in the moment in which the waiting ended."""
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

    It is for connections with the transaction mode `IMMEDIATE` or `EXCLUSIVE`, which take the lock when they
    begin; others take it at their first write, as in Django.
    """

    transaction_mode: str | None  # which the stubs lack

    _turn: FairLock | None = None
    """The queue whose first this connection is."""

    def _start_transaction_under_autocommit(self) -> None:
        if self.transaction_mode in {"IMMEDIATE", "EXCLUSIVE"} and not self.is_in_memory_db():
            self._wait_for_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # the stubs lack it
        except BaseException:
            self._end_turn()
            raise

    def _wait_for_turn(self) -> None:
        queue = _queues.setdefault(str(self.settings_dict["NAME"]), FairLock())
        timeout = self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT)
        if not queue.acquire(timeout):
            raise OperationalError("database is locked")  # what SQLite says after the same wait
        self._turn = queue

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
