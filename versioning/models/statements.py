"""Writes rows with statements that are built once, for the rows that every save writes.

For each `save()` Django builds the statement again, converts every field's value, and sends signals; that
takes five times as long as the database. This module sends no signals. `versioning.models.direct_changes`
watches these statements like any others.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX

Conversion = Callable[[Any], Any]
Columns = tuple[tuple[str, Conversion | None], ...]
"""The columns of a statement by attribute, and the conversion to the database value, if one is needed."""

ROWS_AT_ONCE: Final = 500
"""Databases limit the number of parameters of a statement."""

_PREPARED: Final = (models.UUIDField, models.DateTimeField, models.JSONField)
_PLAIN_KEYS: Final = frozenset({models.CharField, models.AutoField, models.BigAutoField})


def _in_utc(moment: datetime.datetime) -> str:
    return str(moment.astimezone(datetime.UTC).replace(tzinfo=None))


_CONVERSIONS: Final[Mapping[str, Mapping[type[Any], Conversion | None]]] = {
    "sqlite": {
        models.UUIDField: attrgetter("hex"),
        models.DateTimeField: _in_utc,
        models.JSONField: json.dumps,
    },
    "postgresql": {models.UUIDField: None, models.DateTimeField: None},
}
"""What Django makes of values that are not None, in up to twenty calls each; by database and field."""


class PreparedCursor(sqlite3.Cursor):
    """A cursor of SQLite that translates Django's placeholders in each statement once."""

    def execute(self, statement: str, parameters: Any = ()) -> PreparedCursor:
        """Execute a statement, whose parameters have no names."""
        return super().execute(_translated(statement), parameters)

    def executemany(self, statement: str, parameters: Iterable[Any]) -> PreparedCursor:
        """Execute a statement for each of several rows of parameters."""
        return super().executemany(_translated(statement), parameters)


@lru_cache(maxsize=512)
def _translated(statement: str) -> str:
    return FORMAT_QMARK_REGEX.sub("?", statement).replace("%%", "%")


def prepared_cursor() -> Any:
    """Return a cursor for constant statements, to be closed by `with`: PostgreSQL plans them once.

    Django's own cursors insert the parameters into the text, so that every statement is different.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if not database.in_atomic_block:
        database.close_if_health_check_failed()
        database.ensure_connection()
    if database.vendor == "postgresql":
        binding: Any = ServerBindingCursor  # the stubs do not know that it is psycopg's
        cursor = binding(database.connection)
    elif database.vendor == "sqlite":
        cursor = database.connection.cursor(factory=PreparedCursor)
    else:
        cursor = database.create_cursor()
    # Like Django's cursor(), but with the parameters passed separately.
    return database._prepare_cursor(cursor)  # noqa: SLF001


@contextmanager
def one_round_trip() -> Iterator[None]:
    """Send the statements of this block to PostgreSQL together.

    They are executed in order. Results are available and errors raised at the end of the block; so nothing
    inside it may read a result, not even the number of rows.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        yield
        return
    database.ensure_connection()
    with database.wrap_database_errors, database.connection.pipeline():
        yield


def insert(model: type[models.Model], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, given as values by attribute, without an automatic primary key."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        with prepared_cursor() as cursor:
            cursor.execute(_insertion(model, len(some)), values_of(columns_of(model), some))


def insert_new(row: models.Model) -> None:
    """Insert a new object; raises `IntegrityError` as `save()` does."""
    insert(type(row), [vars(row)])
    row._state.adding = False  # noqa: SLF001  as save() does
    row._state.db = DEFAULT_DB_ALIAS  # noqa: SLF001


def update(row: models.Model, fixed: frozenset[str]) -> None:
    """Store all fields of an object except fixed ones; its row must be locked and therefore exists."""
    columns, statement = _update(type(row), fixed)
    with prepared_cursor() as cursor:
        cursor.execute(statement, [*values_of(columns, [vars(row)]), row.pk])


def values_of(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the parameters of a statement, row by row."""
    values = []
    for row in rows:
        for name, prepare in columns:
            value = row[name]
            values.append(value if prepare is None or value is None else prepare(value))
    return values


@lru_cache(maxsize=32)
def fields_of(model: type[models.Model]) -> tuple[Any, ...]:
    """Return the fields that an insertion writes: all but an automatic primary key."""
    return tuple(field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField))


@lru_cache(maxsize=32)
def columns_of(model: type[models.Model]) -> Columns:
    """Return the columns that an insertion writes."""
    return _columns(fields_of(model))


def table_of(model: type[models.Model]) -> str:
    """Return the name of the table, quoted."""
    return connection.ops.quote_name(model._meta.db_table)


def names_of(model: type[models.Model]) -> list[str]:
    """Return the names of the columns that an insertion writes, quoted."""
    return [connection.ops.quote_name(field.column) for field in fields_of(model)]


def _columns(fields: Sequence[Any]) -> Columns:
    return tuple((field.attname, conversion_of(field)) for field in fields)


def conversion_of(field: Any) -> Conversion | None:
    """Return the conversion of a field's values that are not None to the database's; None if there is none.

    A foreign key is like its target, and a project's accounts may have keys of any type.
    """
    is_key = field.remote_field is not None
    while field.remote_field is not None:
        field = field.target_field
    database = connections[DEFAULT_DB_ALIAS]
    known = _CONVERSIONS.get(database.vendor, {})
    if type(field) in known and getattr(field, "encoder", None) is None and database.timezone == datetime.UTC:
        return known[type(field)]
    if isinstance(field, _PREPARED) or (is_key and type(field) not in _PLAIN_KEYS):
        return lambda value: field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])
    return None


# For the statements below: only names of tables and columns are inserted.


@lru_cache(maxsize=64)
def _insertion(model: type[models.Model], rows: int) -> str:
    names = names_of(model)
    row = f"({', '.join(['%s'] * len(names))})"
    return f"INSERT INTO {table_of(model)} ({', '.join(names)}) VALUES {', '.join([row] * rows)}"  # noqa: S608


@lru_cache(maxsize=32)
def _update(model: type[models.Model], fixed: frozenset[str]) -> tuple[Columns, str]:
    fields = [field for field in fields_of(model) if not field.primary_key and field.name not in fixed]
    quote: Callable[[Any], str] = connection.ops.quote_name
    changes = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    key = quote(str(model._meta.pk.column))
    return _columns(fields), f"UPDATE {table_of(model)} SET {changes} WHERE {key} = %s"  # noqa: S608
