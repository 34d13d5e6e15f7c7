"""Back-ups of PostgreSQL, by its own programs `pg_dump`, `pg_restore` and `psql`."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import psycopg
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from editor_project.backups.archive import Unusable
from versioning.domain.access import COMMAND
from versioning.models import ApiKey, events
from versioning.models.log import new_epoch
from versioning.models.log_position import NOT_OF_LIBPQ

_ENDING: Final = 2.0
"""Seconds for which just closed connections of this process may still exist."""

_OTHERS: Final = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND coalesce(backend_type, 'client backend') = 'client backend'
"""
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"

_SET: Final = re.compile(rb"SET (\w+) = ")
_FIRST_STATEMENT: Final = (b"CREATE", b"ALTER", b"COPY", b"COMMENT")

_EMPTY: Final = """
SET lock_timeout = '5s';
DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        EXECUTE format('DROP TABLE %I.%I CASCADE', one.schemaname, one.tablename);
    END LOOP;
    FOR one IN SELECT oid::regprocedure AS name FROM pg_proc
            WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'editor\\_%' LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', one.name);
    END LOOP;
    FOR one IN SELECT oid::regcollation AS name FROM pg_collation
            WHERE collnamespace = current_schema()::regnamespace AND collname LIKE 'editor\\_%' LOOP
        EXECUTE format('DROP COLLATION %s CASCADE', one.name);
    END LOOP;
END $$;
"""
_NEW_EPOCH: Final = """
DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT nspname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE relname = 'versioning_logposition' AND attname = 'epoch' LOOP
        EXECUTE format('UPDATE %I.versioning_logposition SET epoch = %L', one.nspname, '{epoch}');
    END LOOP;
END $$;
"""


def dump(_settings: dict[str, Any], into: Path) -> None:
    """Write the database into a file; raises `Unusable` if a program is missing or fails."""
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--dbname={}", f"--file={into}")


def load(_settings: dict[str, Any], dumped: Path) -> None:
    """Replace the database by a dumped one in a single transaction, with a new epoch of the log.

    Raises `Unusable` if the database is in use or is not an editor's, and as `dump` does.
    """
    _check()
    parts = {name: dumped.with_name(name) for name in ("first.sql", "tables.sql", "last.sql")}
    _run("pg_restore", "--no-owner", "--no-privileges", f"--file={parts['tables.sql']}", str(dumped))
    with psycopg.connect(_address(with_password=True)) as database:
        setting_names = frozenset(name for (name,) in database.execute("SELECT name FROM pg_settings"))
    leave_out_settings(parts["tables.sql"], known=setting_names)
    parts["first.sql"].write_text(_EMPTY)
    parts["last.sql"].write_text(_NEW_EPOCH.format(epoch=new_epoch()))
    files = [f"--file={file}" for file in parts.values()]
    all_or_nothing = ["--single-transaction", "--set=ON_ERROR_STOP=1"]
    _run("psql", "--no-psqlrc", "--quiet", "--output=/dev/null", *all_or_nothing, *files, "--dbname={}")


def leave_out_settings(file: Path, *, known: Collection[str]) -> None:
    """Turn the settings that the server does not know, at the beginning of a dump, into comments.

    The programs of a newer release set some of their own for any server: `transaction_timeout` in 17.
    """
    with file.open("r+b") as dump:
        while (line := dump.readline()) and not line.startswith(_FIRST_STATEMENT):
            match = _SET.match(line)
            if match and match[1].decode() not in known:
                after = dump.tell()
                dump.seek(after - len(line))
                dump.write(b"-- ")  # the same length as SET
                dump.seek(after)


def _check() -> None:
    deadline = time.monotonic() + _ENDING
    with psycopg.connect(_address(with_password=True)) as database:
        while (count := database.execute(_OTHERS).fetchall()[0][0]) and time.monotonic() < deadline:
            time.sleep(0.1)
            database.rollback()
        if count:
            raise Unusable(f"The database is in use by {count} connections: stop the service first.")
        tables = {name for (name,) in database.execute(_TABLES)}
    if tables and "versioning_agent" not in tables:
        raise Unusable("The database belongs to another program and was not changed.")


def _address(*, with_password: bool) -> str:
    left_out = NOT_OF_LIBPQ if with_password else NOT_OF_LIBPQ | {"password"}
    params = connection.get_connection_params()
    return make_conninfo(**{name: value for name, value in params.items() if name not in left_out})


def _run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL; `{}` is the address, without the password, which would be visible."""
    command_arguments = [argument.replace("{}", _address(with_password=False)) for argument in arguments]
    password = connection.get_connection_params().get("password")
    environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    try:
        result = subprocess.run(  # noqa: S603  a program of PostgreSQL, with files of our own
            [program, *command_arguments], env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Unusable(f"{program} is missing; on Debian: apt-get install postgresql-client.") from None
    if result.returncode:
        raise Unusable(f"{program} failed: {result.stderr.strip()}")


def end_all_sessions() -> int:
    """Sign everyone out, and return the number of unexpired sessions."""
    count = Session.objects.filter(expire_date__gt=timezone.now()).count()
    Session.objects.all().delete()
    return count


def revoke_keys(created_before: datetime.datetime) -> int:
    """Revoke the older keys, with entries in the log, and return their number."""
    keys = ApiKey.objects.filter(created_at__lt=created_before, revoked_at=None)
    with events.transaction():
        locked_keys = list(keys.select_related("owner").select_for_update(of=("self",)))
        for key in locked_keys:
            key.revoke(by=COMMAND)
    return len(locked_keys)
