"""How many bytes a text has, asked of the database, so that what is too long is not read at all."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, Expression, Func, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.sql.compiler import SQLCompiler


class ByteLength(Func):
    """The number of bytes of a text in UTF-8. PostgreSQL knows it without reading a long text."""

    function = "OCTET_LENGTH"
    arity = 1
    output_field = BigIntegerField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, Any]:
        """Return the same for SQLite, which has had `octet_length` only since 3.43."""
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **context)


def together(rows: QuerySet[Any], parent: str, length: Expression) -> Expression:
    """Return how long all of the rows are that belong to the one asked for, 0 if there are none.

    `parent` is the field by which they belong to it, and `length` an aggregate such as
    `Sum(ByteLength("body"))`.
    """
    own = rows.order_by().filter(**{parent: OuterRef("pk")}).values(parent)
    return Coalesce(Subquery(own.annotate(length=length).values("length")), 0, output_field=BigIntegerField())
