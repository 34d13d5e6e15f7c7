"""The statements that write entries of the log: they are always the same, so Django does not build them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from django.db import connection, models

from versioning.models.statements import (
    ROWS_AT_ONCE,
    columns_of,
    fields_of,
    insert,
    names_of,
    one_round_trip,
    prepared_cursor,
    table_of,
    values_of,
)

_TAKEN: Final = (
    "INSERT INTO {log} AS log (id, position, pruned_to, rights_position) VALUES (1, %s, 0, %s)"
    " ON CONFLICT (id) DO UPDATE SET position = log.position + EXCLUDED.position, rights_position ="
    " CASE WHEN EXCLUDED.rights_position = 0 THEN log.rights_position"
    " ELSE log.position + EXCLUDED.position END RETURNING position, rights_position"
)


def take_positions_and_insert(
    event: type[models.Model],
    log: type[models.Model],
    entries: Sequence[dict[str, Any]],
    number: int,
    *,
    is_about_rights: bool,
    steps: Iterable[Callable[[], object]] = (),
) -> int:
    """Take so many positions and insert the entries, whose own say how far each is from the one before.

    The last `steps` of the transaction are taken before that. PostgreSQL does all of it in one round trip, so
    that the row of the position is locked for no longer than the commit takes.


    Returns the position of the newest change of anybody's rights, which is the last of these positions if
    they are about rights.
    """
    taken = [number, number if is_about_rights else 0]
    if connection.vendor == "postgresql" and 0 < len(entries) <= ROWS_AT_ONCE:
        with prepared_cursor() as cursor:
            with one_round_trip():
                _prepare(steps)
                parameters = [*taken, number, *values_of(columns_of(event), entries)]
                cursor.execute(_both(event, log, len(entries)), parameters)
            return int(cursor.fetchone()[0])
    _prepare(steps)
    with prepared_cursor() as cursor:
        cursor.execute(_TAKEN.format(log=table_of(log)), taken)
        position, rights_position = cursor.fetchone()
    for entry in entries:
        entry["position"] += position - number
    insert(event, entries)
    return int(rights_position)


def _prepare(steps: Iterable[Callable[[], object]]) -> None:
    """Do what has to be done before the position is taken.

    Django defers the checks of foreign keys to the commit, and they lock what is referred to. Whoever has a
    position must not wait for anybody, who may be waiting for the position. Within somebody else's
    transaction they stay deferred, because statements of theirs may follow.
    """
    for step in steps:
        step()
    if connection.vendor == "postgresql" and not connection.savepoint_ids:
        with prepared_cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@lru_cache(maxsize=64)
def _both(event: type[models.Model], log: type[models.Model], rows: int) -> str:
    fields, names = fields_of(event), names_of(event)
    row = f"({', '.join(f'CAST(%s AS {field.db_type(connection)})' for field in fields)})"
    position = connection.ops.quote_name("position")
    selected = ", ".join(
        f"taken.position - %s + entry.{position}" if field.name == "position" else f"entry.{name}"
        for field, name in zip(fields, names, strict=True)
    )
    columns = ", ".join(names)
    # Nothing but names of the tables and columns is put in.
    return (
        f"WITH taken AS ({_TAKEN.format(log=table_of(log))})"  # noqa: S608
        f" INSERT INTO {table_of(event)} ({columns}) SELECT {selected}"
        f" FROM taken, (VALUES {', '.join([row] * rows)}) AS entry ({columns})"
        " RETURNING (SELECT rights_position FROM taken)"
    )
