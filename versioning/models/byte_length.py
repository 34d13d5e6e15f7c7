"""The byte length of a text, computed by the database, so that a text that is too long is not read."""

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
        """Return the SQLite version; `octet_length` exists only since 3.43."""
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **context)


def together(rows: QuerySet[Any], parent: str, length: Expression) -> Expression:
    """Return an aggregate over the rows that belong to the same parent, 0 if there are none.

    `parent` is the field that refers to the parent, and `length` an aggregate such as
    `Sum(ByteLength("body"))`.
    """
    own = rows.order_by().filter(**{parent: OuterRef("pk")}).values(parent)
    return Coalesce(Subquery(own.annotate(length=length).values("length")), 0, output_field=BigIntegerField())
