"""What the files of back-ups refuse: damage, other databases, other releases; on files, without a server."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from editor_project.backups import archive, postgresql, sqlite
from editor_project.backups.archive import Manifest, Unusable

MANIFEST = Manifest(vendor="sqlite", version="0.2.0", made_at="2026-01-01T00:00:00+00:00", migrations=[])


def database(file: Path, *statements: str) -> Path:
    """Make a database, by default the beginnings of an editor's."""
    with closing(sqlite3.connect(file, isolation_level=None)) as made:
        for statement in statements or (
            "CREATE TABLE versioning_agent (id)",
            "CREATE TABLE versioning_logposition (epoch)",
            "INSERT INTO versioning_logposition VALUES ('first')",
        ):
            made.execute(statement)
    return file


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as read:
        return read.execute(query).fetchall()


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A back-up of a small database."""
    archive.write(tmp_path / "backup", database(tmp_path / "original"), MANIFEST)
    return tmp_path / "backup"


def test_a_back_up_holds_the_database_and_overwrites_none(backup: Path) -> None:
    read = backup.with_name("read")
    assert archive.read(backup, read).version == "0.2.0"
    assert read.read_bytes() == backup.with_name("original").read_bytes()
    assert backup.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Unusable, match="exists already"):
        archive.write(backup, read, MANIFEST)
    assert {one.name for one in backup.parent.iterdir()} == {"backup", "original", "read"}


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)


def exchange(file: Path) -> None:
    """Put another database into it, which does not happen by accident."""
    with zipfile.ZipFile(file) as archived:
        manifest = archived.read("manifest.json")
    with zipfile.ZipFile(file, "w") as archived:
        archived.writestr("database", b"something else")
        archived.writestr("manifest.json", manifest)


def empty(file: Path) -> None:
    with zipfile.ZipFile(file, "w"):
        pass


@pytest.mark.parametrize("damage", [cut, flip, exchange, empty, Path.unlink])
def test_a_damaged_back_up_is_refused(backup: Path, damage: Callable[[Path], object]) -> None:
    damage(backup)
    with pytest.raises(Unusable, match=r"is damaged|is not a back-up|no file"):
        archive.read(backup, backup.with_name("read"))


def test_a_restored_log_has_a_new_epoch(tmp_path: Path) -> None:
    dumped, target = database(tmp_path / "dumped"), tmp_path / "var" / "target"
    sqlite.load({"NAME": target}, dumped)
    [(epoch,)] = rows(target, "SELECT epoch FROM versioning_logposition")
    assert epoch not in {"", "first"}
    copied = tmp_path / "copied"
    sqlite.dump({"NAME": target}, copied)
    assert rows(copied, "SELECT epoch FROM versioning_logposition") == [(epoch,)]


def test_a_database_in_use_is_left_alone(tmp_path: Path) -> None:
    dumped, target = database(tmp_path / "dumped"), database(tmp_path / "target")
    with closing(sqlite3.connect(target)) as reader:
        reader.execute("PRAGMA journal_mode=WAL").fetchall()
        reader.execute("SELECT * FROM versioning_agent").fetchall()
        with pytest.raises(Unusable, match="in use"):
            sqlite.load({"NAME": target}, dumped)
    assert rows(target, "SELECT epoch FROM versioning_logposition") == [("first",)]


@pytest.mark.parametrize(
    ("content", "said"),
    [("CREATE TABLE something (id)", "another program"), (None, "not an SQLite database, or is damaged")],
)
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, content: str | None, said: str) -> None:
    target = tmp_path / "target"
    if content:
        database(target, content)
    else:
        target.write_bytes(b"no database" * 1000)
    before = target.read_bytes()
    with pytest.raises(Unusable, match=said):
        sqlite.load({"NAME": target}, database(tmp_path / "dumped"))
    assert target.read_bytes() == before


def test_what_is_dumped_is_checked(tmp_path: Path) -> None:
    broken = database(
        tmp_path / "broken",
        "CREATE TABLE one (id INTEGER PRIMARY KEY)",
        "CREATE TABLE two (one REFERENCES one)",
        "INSERT INTO two VALUES (1)",
    )
    with pytest.raises(Unusable, match="a row of two refers to nothing"):
        sqlite.load({"NAME": tmp_path / "target"}, broken)
    with pytest.raises(Unusable, match="cannot be copied"):
        sqlite.dump({"NAME": tmp_path / "missing"}, tmp_path / "copy")
    with pytest.raises(Unusable, match="in memory"):
        sqlite.dump({"NAME": ":memory:"}, tmp_path / "copy")


def test_a_dump_of_newer_programs_sets_nothing_that_an_older_server_lacks(tmp_path: Path) -> None:
    dump = tmp_path / "tables.sql"
    head = "-- Dumped by 17\n\nSET statement_timeout = 0;\nSET transaction_timeout = 0;\n"
    body = "SET default_tablespace = '';\nCREATE TABLE a (b text);\nSET transaction_timeout = 0;\n"
    dump.write_text(head + body)
    postgresql.leave_out_settings(dump, known={"statement_timeout", "default_tablespace"})
    assert dump.read_text() == head.replace("SET transaction", "--  transaction") + body
