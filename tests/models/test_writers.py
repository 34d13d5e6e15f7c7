"""Threads of a process that write to one SQLite file take turns, in the order of their arrival."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Cursor, connect
from time import sleep
from typing import Any
from unittest.mock import Mock

import pytest
from django.db.backends.sqlite3 import base as sqlite3
from django.db.utils import ConnectionHandler, OperationalError
from pytest_django import DjangoDbBlocker

from editor_project.database.sqlite import base

WRITERS = 8


@pytest.fixture
def databases(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[ConnectionHandler]:
    """A separate file, to which every thread has a connection."""
    options = {"transaction_mode": "IMMEDIATE", "timeout": 30}
    name = str(tmp_path / "writers.sqlite3")
    database = {"ENGINE": "editor_project.database.sqlite", "NAME": name, "OPTIONS": options}
    with django_db_blocker.unblock():
        yield ConnectionHandler({"default": database})


@contextmanager
def writing(databases: ConnectionHandler) -> Iterator[Any]:
    """A transaction of this thread; it is rolled back if it fails."""
    connection: Any = databases["default"]
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        yield connection
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    finally:
        connection.set_autocommit(True)
        connection.close()


def waiting(databases: ConnectionHandler) -> int:
    """The number of threads that wait for the file."""
    return len(base._queues[str(databases["default"].settings_dict["NAME"])]._waiting)


def test_writers_are_served_in_order_of_arrival(databases: ConnectionHandler) -> None:
    served: list[int] = []

    def write(number: int) -> None:
        with writing(databases):
            served.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    with writing(databases):
        for queued, thread in enumerate(threads, start=1):
            thread.start()
            while waiting(databases) < queued:
                sleep(0.001)
    for thread in threads:
        thread.join()
    assert served == list(range(WRITERS))


@pytest.mark.parametrize("ends", [RuntimeError, OperationalError])
def test_a_writer_that_fails_lets_the_next_one_write(
    databases: ConnectionHandler, ends: type[Exception]
) -> None:
    with pytest.raises(ends), writing(databases):
        raise ends
    with writing(databases) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n)")


def test_a_connection_that_is_closed_in_a_transaction_lets_the_next_one_write(
    databases: ConnectionHandler,
) -> None:
    connection = databases["default"]
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    connection.close()
    done = threading.Event()

    def write() -> None:
        with writing(databases):
            done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert done.wait(10)
    thread.join()


def test_a_writer_gives_up_after_the_timeout_and_the_others_stay_in_order(
    databases: ConnectionHandler,
) -> None:
    databases.settings["default"]["OPTIONS"]["timeout"] = 0.05
    refused: list[str] = []

    def write() -> None:
        try:
            with writing(databases):
                pass
        except OperationalError as error:
            refused.append(str(error))

    with writing(databases):
        late = threading.Thread(target=write)
        late.start()
        late.join()
        assert refused == ["database is locked"]
        assert waiting(databases) == 0
    write()
    assert len(refused) == 1


def test_another_process_is_waited_for(databases: ConnectionHandler) -> None:
    with closing(connect(databases["default"].settings_dict["NAME"], check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.05, other.rollback).start()
        with writing(databases) as connection:
            [[milliseconds]] = connection.connection.execute("PRAGMA busy_timeout")
            assert milliseconds == 30_000  # for statements without a transaction, SQLite waits


def test_waiting_leaves_no_cursor_to_the_garbage_collector(databases: ConnectionHandler) -> None:
    """It would reset the cursor in any thread, even in one that holds the lock which this one waits for."""
    gc.disable()
    gc.collect(0)
    try:
        test_another_process_is_waited_for(databases)
        made = gc.get_objects(generation=0)  # all that was made since, because nothing was collected
        assert not [one for one in made if isinstance(one, Cursor)]
    finally:
        gc.enable()


def test_another_process_is_waited_for_until_the_timeout(databases: ConnectionHandler) -> None:
    databases.settings["default"]["OPTIONS"]["timeout"] = 0.05
    with closing(connect(databases["default"].settings_dict["NAME"])) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"), writing(databases):
            pass


@pytest.mark.parametrize("ends", [MemoryError, KeyboardInterrupt])
def test_a_commit_that_fails_with_another_error_lets_the_next_one_write(
    databases: ConnectionHandler, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    """Django rolls back only after errors of the database; Python's `sqlite3` raises others, too."""
    connection: Any = databases["default"]
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    with monkeypatch.context() as faulty:
        faulty.setattr(sqlite3.DatabaseWrapper, "_commit", Mock(side_effect=ends))
        with pytest.raises(ends):
            connection.commit()
    connection.set_autocommit(True)  # as `atomic` does
    databases.settings["default"]["OPTIONS"]["timeout"] = 0.05
    with writing(databases):
        pass


def test_a_wait_that_is_interrupted_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = base.FairLock()
    assert queue.acquire(0)
    turn = Mock(acquire=Mock(side_effect=[True, KeyboardInterrupt]))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(threading, "Lock", lambda: turn)
        with pytest.raises(KeyboardInterrupt):
            queue.acquire(30)
    queue.release()
    assert queue.acquire(0)


def test_foreign_keys_are_enforced(databases: ConnectionHandler) -> None:
    with databases["default"].cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys")
        assert cursor.fetchone() == (1,)
