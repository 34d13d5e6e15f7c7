"""The statements that write entries of the log: they are always the same, so Django does not build them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

ROWS_AT_ONCE: Final = 500
"""Databases bound the number of parameters of a statement."""

_PREPARED: Final = (models.UUIDField, models.DateTimeField, models.JSONField)

_TAKEN: Final = (
    "INSERT INTO {log} AS log (id, position, pruned_to) VALUES (1, %s, 0)"
    " ON CONFLICT (id) DO UPDATE SET position = log.position + EXCLUDED.position RETURNING position"
)


def take_positions_and_insert(
    event: type[models.Model], log: type[models.Model], entries: Sequence[dict[str, Any]], number: int
) -> None:
    """Take so many positions and insert the entries, whose own say how far each is from the one before.

    PostgreSQL does both in one round trip, so that the row of the position is locked for no longer than
    the commit takes.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and 0 < len(entries) <= ROWS_AT_ONCE:
            statement = _both(event, log, len(entries))
            cursor.execute(statement, [number, number, *_values(event, entries)])
            return
        cursor.execute(_TAKEN.format(log=_table(log)), [number])
        before = cursor.fetchone()[0] - number
        for entry in entries:
            entry["position"] += before
        for first in range(0, len(entries), ROWS_AT_ONCE):
            rows = entries[first : first + ROWS_AT_ONCE]
            cursor.execute(_insertion(event, len(rows)), _values(event, rows))


@lru_cache(maxsize=4)
def _fields(event: type[models.Model]) -> list[Any]:
    return [field for field in event._meta.concrete_fields if not field.primary_key]


def _values(event: type[models.Model], entries: Sequence[dict[str, Any]]) -> list[Any]:
    columns = _preparations(event)
    database = connections[DEFAULT_DB_ALIAS]  # the connection itself, not what looks it up for each value
    return [
        entry[name] if prepare is None else prepare(entry[name], database)
        for entry in entries
        for name, prepare in columns
    ]


@lru_cache(maxsize=4)
def _preparations(event: type[models.Model]) -> list[tuple[str, Callable[..., Any] | None]]:
    """Return, by column, what makes of a value what the database takes; None where it takes any."""
    return [
        (field.attname, field.get_db_prep_save if isinstance(field, _PREPARED) else None)
        for field in _fields(event)
    ]


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _columns(event: type[models.Model]) -> str:
    return ", ".join(connection.ops.quote_name(field.column) for field in _fields(event))


@lru_cache(maxsize=64)
def _insertion(event: type[models.Model], rows: int) -> str:
    row = f"({', '.join(['%s'] * len(_fields(event)))})"
    # Nothing but names of the tables and columns is put in.
    return f"INSERT INTO {_table(event)} ({_columns(event)}) VALUES {', '.join([row] * rows)}"  # noqa: S608


@lru_cache(maxsize=64)
def _both(event: type[models.Model], log: type[models.Model], rows: int) -> str:
    fields = _fields(event)
    row = f"({', '.join(f'CAST(%s AS {field.db_type(connection)})' for field in fields)})"
    names = _columns(event)
    position = connection.ops.quote_name("position")
    selected = ", ".join(
        f"taken.position - %s + entry.{position}" if field.name == "position" else f"entry.{name}"
        for field, name in zip(fields, names.split(", "), strict=True)
    )
    # Nothing but names of the tables and columns is put in.
    return (
        f"WITH taken AS ({_TAKEN.format(log=_table(log))})"  # noqa: S608
        f" INSERT INTO {_table(event)} ({names}) SELECT {selected}"
        f" FROM taken, (VALUES {', '.join([row] * rows)}) AS entry ({names})"
    )
