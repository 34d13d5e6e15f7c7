"""Moving an installation to another database: every row, with its id, in one transaction.

`dumpdata` and `loaddata` would go through JSON, and through signals that write to the log of the target.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from itertools import islice
from typing import Any, Final, NamedTuple

from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.models import sql
from editor_client.shared.canonical import comparable

from versioning.models import events
from versioning.models.text_search import SearchDocument, SearchProgress

TARGET: Final = "target"
"""The alias of the database to which an installation moves."""
_AT_ONCE: Final = 500


class Refused(Exception):
    """The installation was not moved; the message is a sentence."""


class Table(NamedTuple):
    """A table that was moved: both databases have the same rows."""

    name: str
    rows: int
    digest: str


def moved_models() -> list[type[models.Model]]:
    """Return the models whose rows move: all but those of the search index, which a worker makes again."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if not model._meta.proxy and not issubclass(model, SearchDocument | SearchProgress)
    ]


def move() -> list[Table]:
    """Copy every row of this installation into the database `TARGET`, and compare both; return the tables.

    The target has the tables of this release. Raises `Refused` if the target is not empty, if the two differ
    in the end, or if the installation was changed meanwhile; the target is then unchanged.
    """
    target = connections[TARGET]
    target.ensure_connection()
    target.execute_wrappers.clear()  # the log that is moved must not change
    moved = moved_models()
    with transaction.atomic(using=TARGET):
        with transaction.atomic():  # a consistent state of the source
            if connection.vendor == "postgresql":  # on SQLite, only this transaction may write
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            position = events.position()
            refuse_if_in_use()
            with target.cursor() as cursor:  # removes rows made by `migrate`
                for model in moved:
                    cursor.execute(f"DELETE FROM {target.ops.quote_name(model._meta.db_table)}")  # noqa: S608  ours
            for model in moved:
                _copy(model)
            target.check_constraints([model._meta.db_table for model in moved])
            tables = []
            for model in moved:
                here, there = (_digest_table(model, alias) for alias in (DEFAULT_DB_ALIAS, TARGET))
                if here != there:
                    raise Refused(
                        f"{here.name} differs: {here.rows} rows here, {there.rows} there. Nothing was moved."
                    )
                tables.append(here)
        for statement in target.ops.sequence_reset_sql(no_style(), moved):
            with target.cursor() as cursor:
                cursor.execute(statement)
        if events.position() != position:
            raise Refused("The installation was changed during the move: stop it, and move again.")
    return tables


def refuse_if_in_use() -> None:
    """Raise `Refused` if the database `TARGET` has more rows than `migrate` makes; it may lack tables."""
    tables = connections[TARGET].introspection.table_names()
    for model in map(apps.get_model, _IN_USE):
        if model._meta.db_table in tables and _rows(model, TARGET).exists():
            raise Refused("The other database already contains an installation: name an empty one.")


_IN_USE: Final = ("auth.User", "versioning.Event", "versioning.Agent", "versioning.PromptBlock")


def _rows(model: type[models.Model], alias: str) -> models.QuerySet[Any]:
    return models.QuerySet(model, using=alias)


def _copy(model: type[models.Model]) -> None:
    fields = [field for field in model._meta.local_concrete_fields if not field.generated]
    rows = iter(_rows(model, DEFAULT_DB_ALIAS).order_by("pk").iterator(_AT_ONCE))
    while batch := list(islice(rows, _AT_ONCE)):
        size = connections[TARGET].ops.bulk_batch_size(fields, batch)
        for begin in range(0, len(batch), size):
            # As stored, without `save()` and `pre_save()`, which set times.
            query = sql.InsertQuery(model)
            query.insert_values(fields, batch[begin : begin + size], raw=True)
            query.get_compiler(TARGET).execute_sql()


def _digest_table(model: type[models.Model], alias: str) -> Table:
    """Return the number of rows and a digest of them that does not depend on their order.

    Databases sort texts differently, so the digests of the rows are added up.
    """
    names = [field.attname for field in model._meta.local_concrete_fields]
    total = rows = 0
    for row in _rows(model, alias).order_by().values_list(*names).iterator(_AT_ONCE):
        text = json.dumps([_plain(value) for value in row], ensure_ascii=False)
        total += int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
        rows += 1
    return Table(model._meta.db_table, rows, f"{total % 2**256:064x}")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat()
    if isinstance(value, dict | list):
        return comparable(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
