"""Queries that are repeated for different primary keys, compiled once.

Django builds the SQL of a query set, and the code that makes objects of its rows, for every execution; for a
resource with its versions and their authors that takes ten times as long as the database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connections, models

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.bounded_cache import BoundedCache
from versioning.models.statements import prepared_cursor

M = TypeVar("M", bound=models.Model)
Q = TypeVar("Q")

MAX_QUERIES: Final = 256
"""The maximum number of compiled queries to keep, one for each set of rights and further arguments."""

MAX_KEYS: Final = 128
"""The number of keys in one statement."""


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
        self._converters = [(place, *found) for place, found in converters.items()]
        self._annotations: Final[dict[str, int]] = dict(compiler.annotation_col_map)

    def rows(self, keys: Sequence[str]) -> list[M]:
        """Return the rows for these keys."""
        if self._sql is None:
            return []
        with prepared_cursor() as cursor:
            cursor.execute(self._sql, _parameters(self._params, keys))
            rows = cursor.fetchall()
        found = []
        for row in rows:
            values = _converted(row, self._converters, connections[self._alias])
            made: M = self._object.of(self._alias, values)
            for name, place in self._annotations.items():
                setattr(made, name, values[place])
            found.append(made)
        return found


class OneByKey(Generic[M]):
    """`rows.get(pk=…)`, compiled: for rows found by a primary key, or another column, that is a text."""

    def __init__(self, rows: models.QuerySet[M], *, found_by: str = "pk") -> None:
        self._model: Any = rows.model
        self._compiled = _Compiled(rows.filter(**{found_by: _Key(0)}))

    def get(self, *, pk: str) -> M:
        """Return the row with this primary key; raises `DoesNotExist`."""
        for found in self._compiled.rows([pk]):
            return found
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
            (one["local_setter"], one["remote_setter"], _Object(one, columns))
            for one in info.get("related_klass_infos", ())
        ]

    def of(self, alias: str, values: Sequence[Any]) -> Any:
        """Return the object; None if an outer join found no row."""
        if values[self._key] is None:
            return None
        found = self._model.from_db(alias, self._names, values[self._values])
        for set_related, set_back, related in self._related:
            other = related.of(alias, values)
            set_related(found, other)
            if other is not None:
                set_back(other, found)
        return found


def _in_parts(keys: Collection[str]) -> Iterator[list[str]]:
    """Yield the keys in parts of few sizes, so that few statements serve any number; the last is padded."""
    wanted = sorted(keys)
    for first in range(0, len(wanted), MAX_KEYS):
        part = wanted[first : first + MAX_KEYS]
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
        return [_converted(row, converters, database) for row in rows]

    def _compile(self, size: int) -> tuple[str | None, list[Any], list[Any]]:
        rows = self._rows.filter(pk__in=[_Key(number) for number in range(size)])
        compiler: Any = rows.query.get_compiler(using=rows.db)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return self._compiled.setdefault(size, (None, [], []))
        converters = compiler.get_converters([column[0] for column in compiler.select])
        made = self._compiled[size] = sql, list(params), [(place, *one) for place, one in converters.items()]
        return made


class QueriesForCallers(Generic[Q]):
    """Compiled queries for the readable rows of callers: one for each set of rights and further arguments."""

    def __init__(self) -> None:
        self._held: BoundedCache[Hashable, tuple[object, Q]] = BoundedCache(MAX_QUERIES)

    def get(self, caller: Caller, code: Registry, asked: Hashable, compile_query: Callable[[], Q]) -> Q:
        """Return the query for this caller; `compile_query` makes a missing one."""
        rights = (caller.scope(Right.READ), caller.scope(Right.READ_DRAFTS), caller.id_prefix)
        question = (*rights, code.workspace_id, asked)
        in_code = code.agents  # they decide who may read overrides, and are only replaced as a whole
        held = self._held.get(question)
        if held is None or held[0] is not in_code:
            held = in_code, compile_query()
            self._held.put(question, held, 1)
        return held[1]


def _parameters(params: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Return the parameters of a compiled query, with keys in the place of their `_Key`s."""
    found = list(params)
    for place, value in enumerate(params):
        if type(value) is _Key:
            found[place] = keys[int(value)]
    return found


def _converted(row: Sequence[Any], converters: list[Any], database: Any) -> tuple[Any, ...]:
    values = list(row)
    for place, functions, expression in converters:
        for convert in functions:
            values[place] = convert(values[place], expression, database)
    return tuple(values)
