"""Search for a text, ignoring case, in the parts of resources that a caller may read.

A search covers id, name, description and instructions. Its rule exists in two forms: for rows, searched by a
statement, and for content in files or code only. Both look for the key of the typed text
(`editor_client.shared.text_keys`) in keys, which are stored with each version. Looking for an exact text is
up to eighty times faster than LIKE.

There is deliberately no index. PostgreSQL has one for this (pg_trgm), but only the two versions that a
resource points at are searched, and the index would cover all versions ever saved. It would be as large as
their texts, add two milliseconds to every save, and be useless for fewer than three characters, for which the
database would read the whole history. Without it, searching the texts of five thousand agents takes some
thirty milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, Expression, F, Func, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.db.models.sql.compiler import SQLCompiler
from editor_client.shared.configurations import searchable_text
from editor_client.shared.text_keys import caseless

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Message
from versioning.models.querysets import within

MAX_LENGTH: Final = 200
"""The maximum length of a search text."""


def matching(rows: QuerySet[Any, Any], text: str, caller: Caller) -> QuerySet[Any, Any]:
    """Filter by resources that contain the text in a part that the caller may read.

    Raises `Invalid` if the text is too long.
    """
    check_length(text)
    if not text:
        return rows
    sought = Value(caseless(text))
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    # The published version was searched already if nothing newer was saved.
    differs = Q(active_version__isnull=True) | ~Q(active_version=F("latest_version"))
    in_active, in_latest = (
        _in_version(rows.model, name, sought) for name in ("active_version", "latest_version")
    )
    return rows.filter(in_active | (drafts & differs & in_latest))


def _in_version(model: Any, pointer: str, sought: Any) -> Q:
    """Return the condition that the version of a pointer contains a text.

    It is a subquery because a join would look up both versions, even if the first one matches.
    """
    version = model.version_model.objects.filter(pk=OuterRef(f"{pointer}_id")).order_by()
    place = Subquery(version.values(place=StrIndex("search_text", sought)))
    return Q(GreaterThan(place, 0))


def occurs(text: str, resource_id: str, config: Config, text_field: str) -> bool:
    """Return whether a configuration or its id contains the text; raises `Invalid`."""
    check_length(text)
    return caseless(text) in searchable_text(resource_id, config, text_field)


def check_length(text: str) -> None:
    """Raise `Invalid` for a text that is too long to search for."""
    if len(text) > MAX_LENGTH:
        raise Invalid.field("search", Message("must not be longer than {limit} characters", limit=MAX_LENGTH))


class ByteLength(Func):
    """The number of bytes of a text in UTF-8. PostgreSQL computes it without reading a long text."""

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
