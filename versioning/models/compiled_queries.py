"""Queries for one row that are asked over and over, compiled once.

Django builds the SQL of a query set and what makes objects of its rows anew each time it is asked; for a
resource with its versions and their authors that takes ten times as long as the database.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connections, models

from versioning.models.statements import one_round_trip, prepared_cursor

M = TypeVar("M", bound=models.Model)


class _Key(str):
    """What stands for the primary key while a query is compiled."""

    __slots__ = ()


class OneByKey(Generic[M]):
    """`rows.get(pk=…)`, compiled: for rows whose primary key is a text."""

    def __init__(self, rows: models.QuerySet[M]) -> None:
        self._model: Any = rows.model
        self._alias = rows.db
        self._locks = rows.query.select_for_update
        compiler: Any = rows.filter(pk=_Key()).query.get_compiler(using=rows.db)
        try:
            self._sql, params = compiler.as_sql()
        except EmptyResultSet:  # nobody can read anything, whichever the key
            self._sql = None
            return
        self._params: Final[tuple[Any, ...]] = tuple(params)
        columns = compiler.select[: compiler.col_count]
        self._object = _Object(compiler.klass_info, columns)
        converters = compiler.get_converters([column[0] for column in columns])
        self._converters = [(place, *found) for place, found in converters.items()]

    def get(self, *, pk: str) -> M:
        """Return the row with this primary key; raises `DoesNotExist`."""
        database = connections[self._alias]
        row = None
        if self._sql is not None:
            with prepared_cursor() as cursor:
                with one_round_trip() if self._locks else nullcontext():  # it may begin a transaction
                    cursor.execute(self._sql, [pk if isinstance(one, _Key) else one for one in self._params])
                row = cursor.fetchone()
        if row is None:
            raise self._model.DoesNotExist
        values = list(row)
        for place, converters, expression in self._converters:
            for convert in converters:
                values[place] = convert(values[place], expression, database)
        found: M = self._object.of(self._alias, values)
        return found


class _Object:
    """How an object, and those that were selected with it, are made of the values of a row."""

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

    def of(self, alias: str, values: list[Any]) -> Any:
        """Return the object; None where an outer join has found no row."""
        if values[self._key] is None:
            return None
        found = self._model.from_db(alias, self._names, values[self._values])
        for set_related, set_back, related in self._related:
            other = related.of(alias, values)
            set_related(found, other)
            if other is not None:
                set_back(other, found)
        return found
