"""Statements that are built once: for rows that every save writes, and rows that are read by their keys.

For each `save()` Django builds the statement again, converts every field's value, and sends signals; that
takes five times as long as the database. This module sends no signals. `versioning.models.direct_changes`
watches these statements like any others.

For each query set it builds the SQL again, and the code that makes objects of rows; for a resource with its
versions and their authors that takes ten times as long as the database.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.bounded_cache import BoundedCache

M = TypeVar("M", bound=models.Model)
Q = TypeVar("Q")

Conversion = Callable[[Any], Any]
Columns = tuple[tuple[str, Conversion | None], ...]
"""The columns of a statement by attribute, with the conversion to the database value, if needed."""

ROWS_AT_ONCE: Final = 500
"""Databases limit the number of parameters of a statement."""

MAX_QUERIES: Final = 256
"""The maximum number of compiled queries to keep, one for each set of rights and further arguments."""

MAX_KEYS: Final = 128
"""The number of keys in one query."""

_PREPARED: Final = (models.UUIDField, models.DateTimeField, models.JSONField)
_PLAIN_KEYS: Final = frozenset({models.CharField, models.AutoField, models.BigAutoField})


_CONVERSIONS: Final[Mapping[str, Mapping[type[Any], Conversion | None]]] = {
    "sqlite": {
        models.UUIDField: attrgetter("hex"),
        models.DateTimeField: lambda moment: str(moment.astimezone(datetime.UTC).replace(tzinfo=None)),
        models.JSONField: json.dumps,
    },
    "postgresql": {models.UUIDField: None, models.DateTimeField: None},
}
"""Conversions of values to the database's, by database and field; Django needs up to twenty calls each."""


class PreparedCursor(sqlite3.Cursor):
    """A cursor of SQLite that translates Django's placeholders in each statement once."""

    def execute(self, statement: str, parameters: Any = ()) -> PreparedCursor:
        """Execute a statement, whose parameters have no names."""
        return super().execute(_translate(statement), parameters)

    def executemany(self, statement: str, parameters: Iterable[Any]) -> PreparedCursor:
        return super().executemany(_translate(statement), parameters)


@lru_cache(maxsize=512)
def _translate(statement: str) -> str:
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
        batch = rows[first : first + ROWS_AT_ONCE]
        with prepared_cursor() as cursor:
            cursor.execute(_insertion(model, len(batch)), row_values(inserted_columns(model), batch))


def insert_new(row: models.Model) -> None:
    """Insert a new object; raises `IntegrityError` as `save()` does."""
    insert(type(row), [vars(row)])
    row._state.adding = False  # noqa: SLF001  as save() does
    row._state.db = DEFAULT_DB_ALIAS  # noqa: SLF001


def update(row: models.Model, fixed: frozenset[str]) -> None:
    """Store all fields of an object except fixed ones; its row must be locked and therefore exists."""
    columns, statement = _update(type(row), fixed)
    with prepared_cursor() as cursor:
        cursor.execute(statement, [*row_values(columns, [vars(row)]), row.pk])


def row_values(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the parameters of a statement, row by row."""
    values = []
    for row in rows:
        for name, prepare in columns:
            value = row[name]
            values.append(value if prepare is None or value is None else prepare(value))
    return values


@lru_cache(maxsize=32)
def inserted_fields(model: type[models.Model]) -> tuple[Any, ...]:
    """Return the fields that an insertion writes: all but an automatic primary key."""
    return tuple(field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField))


@lru_cache(maxsize=32)
def inserted_columns(model: type[models.Model]) -> Columns:
    """Return the columns that an insertion writes."""
    return _columns(inserted_fields(model))


def quoted_table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def column_names(model: type[models.Model]) -> list[str]:
    return [connection.ops.quote_name(field.column) for field in inserted_fields(model)]


def _columns(fields: Sequence[Any]) -> Columns:
    return tuple((field.attname, find_conversion(field)) for field in fields)


def find_conversion(field: Any) -> Conversion | None:
    """Return the conversion of a field's values that are not None to the database's; None if there is none.

    A foreign key is like its target, and a project's accounts may have keys of any type.
    """
    is_key = field.remote_field is not None
    while field.remote_field is not None:
        field = field.target_field
    database = connections[DEFAULT_DB_ALIAS]
    by_type = _CONVERSIONS.get(database.vendor, {})
    if (
        type(field) in by_type
        and getattr(field, "encoder", None) is None
        and database.timezone == datetime.UTC
    ):
        return by_type[type(field)]
    if isinstance(field, _PREPARED) or (is_key and type(field) not in _PLAIN_KEYS):
        return lambda value: field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])
    return None


# For the statements below: only names of tables and columns are inserted.


@lru_cache(maxsize=64)
def _insertion(model: type[models.Model], rows: int) -> str:
    names = column_names(model)
    row = f"({', '.join(['%s'] * len(names))})"
    return f"INSERT INTO {quoted_table(model)} ({', '.join(names)}) VALUES {', '.join([row] * rows)}"  # noqa: S608


@lru_cache(maxsize=32)
def _update(model: type[models.Model], fixed: frozenset[str]) -> tuple[Columns, str]:
    fields = [field for field in inserted_fields(model) if not field.primary_key and field.name not in fixed]
    quote: Callable[[Any], str] = connection.ops.quote_name
    changes = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    key = quote(str(model._meta.pk.column))
    return _columns(fields), f"UPDATE {quoted_table(model)} SET {changes} WHERE {key} = %s"  # noqa: S608


# Reading


class _Key(str):
    """A placeholder for the primary key while a query is compiled."""

    __slots__ = ()


class _Compiled(Generic[M]):
    """A compiled query for whole rows, with `_Key`s in the place of keys."""

    def __init__(self, rows: models.QuerySet[M]) -> None:
        self._alias = rows.db
        compiler: Any = rows.query.get_compiler(using=rows.db)
        try:
            self._sql, params = compiler.as_sql()
        except EmptyResultSet:  # no row is readable, for any key
            self._sql = None
            return
        self._params: Final[tuple[Any, ...]] = tuple(params)
        columns = compiler.select[: compiler.col_count]
        self._object = _Object(compiler.klass_info, columns)
        converters = compiler.get_converters([column[0] for column in columns])
        self._converters = [(place, *converter) for place, converter in converters.items()]
        self._annotations: Final[dict[str, int]] = dict(compiler.annotation_col_map)

    def rows(self, keys: Sequence[str]) -> list[M]:
        if self._sql is None:
            return []
        with prepared_cursor() as cursor:
            cursor.execute(self._sql, _parameters(self._params, keys))
            rows = cursor.fetchall()
        instances = []
        for row in rows:
            values = _convert_row(row, self._converters, connections[self._alias])
            instance: M = self._object.of(self._alias, values)
            for name, place in self._annotations.items():
                setattr(instance, name, values[place])
            instances.append(instance)
        return instances


class OneByKey(Generic[M]):
    """`rows.get(pk=…)`, compiled: for rows found by a primary key, or another column, that is a text."""

    def __init__(self, rows: models.QuerySet[M], *, found_by: str = "pk") -> None:
        self._model: Any = rows.model
        self._compiled = _Compiled(rows.filter(**{found_by: _Key(0)}))

    def get(self, *, pk: str) -> M:
        """Return the row with this primary key; raises `DoesNotExist`."""
        for row in self._compiled.rows([pk]):
            return row
        raise self._model.DoesNotExist


class _Object:
    """How an object, and its selected related objects, are made from the values of a row."""

    def __init__(self, info: Any, columns: Any) -> None:
        self._model = info["model"]
        places = info["select_fields"]
        self._values = slice(places[0], places[-1] + 1)
        self._names = [column[0].target.attname for column in columns[self._values]]
        self._key = self._values.start + self._names.index(self._model._meta.pk.attname)
        self._related = [
            (relation["local_setter"], relation["remote_setter"], _Object(relation, columns))
            for relation in info.get("related_klass_infos", ())
        ]

    def of(self, alias: str, values: Sequence[Any]) -> Any:
        """Return the object; None if an outer join found no row."""
        if values[self._key] is None:
            return None
        instance = self._model.from_db(alias, self._names, values[self._values])
        for set_related, set_back, related in self._related:
            other = related.of(alias, values)
            set_related(instance, other)
            if other is not None:
                set_back(other, instance)
        return instance


def _in_parts(keys: Collection[str]) -> Iterator[list[str]]:
    """Yield the keys in parts of few sizes, so that few statements serve any number; the last is padded."""
    sorted_keys = sorted(keys)
    for first in range(0, len(sorted_keys), MAX_KEYS):
        part = sorted_keys[first : first + MAX_KEYS]
        size = 1 << (len(part) - 1).bit_length()
        yield part + part[:1] * (size - len(part))


class RowsByKeys(Generic[M]):
    """`rows.filter(pk__in=…)`, compiled: for rows whose primary key is a text."""

    def __init__(self, rows: models.QuerySet[M]) -> None:
        self._rows = rows.order_by()
        self._compiled: dict[int, _Compiled[M]] = {}

    def get(self, keys: Collection[str]) -> list[M]:
        """Return the rows with these keys, unordered."""
        return [row for part in _in_parts(keys) for row in self._of(len(part)).rows(part)]

    def _of(self, size: int) -> _Compiled[M]:
        compiled = self._compiled.get(size)
        if compiled is None:
            rows = self._rows.filter(pk__in=[_Key(number) for number in range(size)])
            compiled = self._compiled.setdefault(size, _Compiled(rows))
        return compiled


class ValuesByKeys:
    """`rows.filter(pk__in=…)`, compiled: for values of rows whose primary key is a text."""

    def __init__(self, rows: models.QuerySet[Any, Any]) -> None:
        self._rows = rows
        self._compiled: dict[int, tuple[str | None, list[Any], list[Any]]] = {}

    def get(self, keys: Collection[str]) -> list[tuple[Any, ...]]:
        """Return the values of the rows with these keys, unordered."""
        if len(keys) == 1:
            return self._some(list(keys))
        return [row for part in _in_parts(keys) for row in self._some(part)]

    def _some(self, keys: list[str]) -> list[tuple[Any, ...]]:
        sql, params, converters = self._compiled.get(len(keys)) or self._compile(len(keys))
        if sql is None:
            return []
        with prepared_cursor() as cursor:
            cursor.execute(sql, _parameters(params, keys))
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        if not converters:
            return rows
        database = connections[self._rows.db]
        return [_convert_row(row, converters, database) for row in rows]

    def _compile(self, size: int) -> tuple[str | None, list[Any], list[Any]]:
        rows = self._rows.filter(pk__in=[_Key(number) for number in range(size)])
        compiler: Any = rows.query.get_compiler(using=rows.db)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return self._compiled.setdefault(size, (None, [], []))
        converters = compiler.get_converters([column[0] for column in compiler.select])
        compiled = self._compiled[size] = (
            sql,
            list(params),
            [(place, *converter) for place, converter in converters.items()],
        )
        return compiled


class QueriesForCallers(Generic[Q]):
    """Compiled queries for the readable rows of callers: one for each set of rights and further arguments."""

    def __init__(self) -> None:
        self._held: BoundedCache[Hashable, tuple[object, Q]] = BoundedCache(MAX_QUERIES)

    def get(self, caller: Caller, code: Registry, query_key: Hashable, compile_query: Callable[[], Q]) -> Q:
        """Return the query for this caller; `compile_query` makes a missing one."""
        rights = (caller.scope(Right.READ), caller.scope(Right.READ_DRAFTS), caller.id_prefix)
        cache_key = (*rights, code.workspace_id, query_key)
        in_code = code.agents  # they decide who can read overrides, and are only replaced as a whole
        entry = self._held.get(cache_key)
        if entry is None or entry[0] is not in_code:
            entry = in_code, compile_query()
            self._held.put(cache_key, entry, 1)
        return entry[1]


def _parameters(params: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Return the parameters of a compiled query, with keys in the place of their `_Key`s."""
    parameters = list(params)
    for place, value in enumerate(params):
        if type(value) is _Key:
            parameters[place] = keys[int(value)]
    return parameters


def _convert_row(row: Sequence[Any], converters: list[Any], database: Any) -> tuple[Any, ...]:
    values = list(row)
    for place, functions, expression in converters:
        for convert in functions:
            values[place] = convert(values[place], expression, database)
    return tuple(values)
