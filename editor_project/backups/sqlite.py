"""Back-ups of SQLite, by its own means: a consistent copy, even while the service writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from editor_project.backups.archive import Unusable
from versioning.models.log import new_epoch


def dump(settings: dict[str, Any], into: Path) -> None:
    """Copy the database into a file; raises `Unusable` if there is none."""
    file = _database_file(settings)
    try:
        with (
            closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database,
            closing(sqlite3.connect(into)) as copy,
        ):
            database.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # with all data in one file
    except sqlite3.Error as error:
        raise Unusable(f"{file} cannot be copied: {error}.") from error


def load(settings: dict[str, Any], dumped: Path) -> None:
    """Replace the database by a dumped one in a single transaction, with a new epoch of the log.

    Raises `Unusable` if the copy has faults, and if the database is in use or is not an editor's.
    """
    file = _database_file(settings)
    with closing(sqlite3.connect(dumped, isolation_level=None)) as copy:
        _check(copy)
        if any(row[1] == "epoch" for row in copy.execute("PRAGMA table_info(versioning_logposition)")):
            copy.execute("UPDATE versioning_logposition SET epoch = ?", [new_epoch()])
        with _alone(file) as database:
            copy.backup(database)


def _check(copy: sqlite3.Connection) -> None:
    try:
        rows = copy.execute("PRAGMA integrity_check").fetchall()
        faults = [row[0] for row in rows if row != ("ok",)]
        faults += [f"a row of {row[0]} refers to nothing" for row in copy.execute("PRAGMA foreign_key_check")]
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if faults:
        raise Unusable(f"The database in the back-up has faults: {'; '.join(faults[:3])}.")


@contextmanager
def _alone(file: Path) -> Iterator[sqlite3.Connection]:
    """Open the database so that no other process can; raises `Unusable` if one has it open."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, timeout=1, isolation_level=None)) as database:
        try:
            # Only a sole connection may leave the mode WAL; the lock is then held to the end.
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            (mode,) = database.execute("PRAGMA journal_mode=DELETE").fetchone()
            database.execute("BEGIN EXCLUSIVE")
            tables = {
                row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise Unusable(f"{file} is in use ({error}): stop the service first.") from error
        except sqlite3.DatabaseError as error:
            raise Unusable(
                f"{file} is not an SQLite database, or is damaged ({error}): "
                "move it away, with its -wal and -shm."
            ) from error
        if mode != "delete":
            raise Unusable(f"{file} is in use: stop the service first.")
        if tables and "versioning_agent" not in tables:
            raise Unusable(f"{file} is the database of another program and was not changed.")
        yield database


def _database_file(settings: dict[str, Any]) -> Path:
    name = str(settings["NAME"])
    if name == ":memory:" or name.startswith("file:"):
        raise Unusable("The database is in memory: there is nothing to back up or to restore.")
    return Path(name)
