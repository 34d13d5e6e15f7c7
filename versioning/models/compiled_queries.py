"""Queries for one row that are asked over and over, compiled once.

Django builds the SQL of a query set and what makes objects of its rows anew each time it is asked; for a
resource with its versions and their authors that takes ten times as long as the database.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.models.query import get_related_populators

from versioning.models.statements import prepared_cursor

M = TypeVar("M", bound=models.Model)


class _Key(str):
    """What stands for the primary key while a query is compiled."""

    __slots__ = ()


class OneByKey(Generic[M]):
    """`rows.get(pk=…)`, compiled: for rows whose primary key is a text."""

    def __init__(self, rows: models.QuerySet[M]) -> None:
        self._model: Any = rows.model
        self._alias = rows.db
        compiler: Any = rows.filter(pk=_Key()).query.get_compiler(using=rows.db)
        try:
            self._sql, params = compiler.as_sql()
        except EmptyResultSet:  # nobody can read anything, whichever the key
            self._sql = None
            return
        self._params: Final[tuple[Any, ...]] = tuple(params)
        columns = compiler.select[: compiler.col_count]
        own = compiler.klass_info["select_fields"]
        self._own = slice(own[0], own[-1] + 1)
        self._names = [column[0].target.attname for column in columns[self._own]]
        # The stubs describe Django 6, which takes one argument more.
        populators: Any = get_related_populators
        self._related = populators(compiler.klass_info, columns, rows.db)
        converters = compiler.get_converters([column[0] for column in columns])
        self._converters = [(place, *found) for place, found in converters.items()]

    def get(self, *, pk: str) -> M:
        """Return the row with this primary key; raises `DoesNotExist`."""
        database = connections[self._alias]
        row = None
        if self._sql is not None:
            with prepared_cursor() as cursor:
                cursor.execute(self._sql, [pk if isinstance(one, _Key) else one for one in self._params])
                row = cursor.fetchone()
        if row is None:
            raise self._model.DoesNotExist
        values = list(row)
        for place, converters, expression in self._converters:
            for convert in converters:
                values[place] = convert(values[place], expression, database)
        found: M = self._model.from_db(self._alias, self._names, values[self._own])
        for related in self._related:
            related.populate(values, found)
        return found
