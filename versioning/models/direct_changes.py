"""Advance the log for changes made through Django's ORM instead of the editor's verbs.

A shell, an admin page or a command of the application may change accounts, members and keys. The next answer
of every process must take that into account. `QuerySet.update()` and bulk operations send no signals, and the
account model may have any manager, so the statements of the ORM are watched: a change and its position are in
one transaction. SQL written by hand may look different; it is noticed within `followed_log.HOLD_SECONDS`.
Resources and their parts need no watch: writing them without the verbs raises (`guarded`), and `loaddata`,
which bypasses that, sends a signal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models.signals import post_save

from versioning.models import events
from versioning.models.keys import ApiKey
from versioning.models.log import LogPosition
from versioning.models.tags import Favorite
from versioning.models.versioned import MODELS
from versioning.models.workspaces import Membership, Workspace

_OF_KEYS: Final = (
    *("owner", "workspace", "role", "digest", "expires_at", "revoked_at", "actions", "id_prefix"),
)

_CHANGE: Final = re.compile(r"(UPDATE|DELETE FROM|INSERT(?: OR \w+)? INTO) (\S+)")
_CHANGES_OF_TABLES: Final = ("CREATE TABLE", "ALTER TABLE", "DROP TABLE")


@dataclass(frozen=True)
class _Table:
    """A table that answers depend on."""

    is_logged: bool = False
    """Whether the editor's verbs, which change the table too, log those changes."""
    new_is_harmless: bool = False
    """Whether no answer can depend on a newly inserted row."""
    assignments: tuple[str, ...] = ()
    """The beginnings of assignments to the relevant columns; empty if all columns are relevant."""

    def is_changed_by(self, verb: str, statement: str) -> bool:
        """Return whether the statement changes columns of the table that answers depend on."""
        if verb.startswith("INSERT"):
            return not self.new_is_harmless or " DO UPDATE " in statement
        return verb != "UPDATE" or not self.assignments or any(text in statement for text in self.assignments)


_tables: Final[dict[str, _Table]] = {}
"""By table name as quoted in statements."""


def connect() -> None:
    """Watch the statements of every connection for the lifetime of the process."""
    for model in (Membership, Favorite):
        _tables[_quote(model._meta.db_table)] = _Table(is_logged=model is not Favorite)
        post_save.connect(_note_inserted, sender=model)
    _tables[_quote(Workspace._meta.db_table)] = _Table(is_logged=True, new_is_harmless=True)
    keys = _assignments(ApiKey, _OF_KEYS)
    _tables[_quote(ApiKey._meta.db_table)] = _Table(is_logged=True, new_is_harmless=True, assignments=keys)
    account = get_user_model()
    names = (account.USERNAME_FIELD, "is_active", "is_superuser")
    # Signing in always changes accounts; only these fields matter. A property can depend on any column.
    is_computed = any(isinstance(getattr(account, name, None), property) for name in names)
    assignments = () if is_computed else _assignments(account, names)
    for field in account._meta.concrete_fields:  # which may be of a parent with its own table
        _tables[_quote(field.model._meta.db_table)] = _Table(new_is_harmless=True, assignments=assignments)
    for resource in MODELS:
        for part in (resource, resource.version_model, resource.label_model, resource.tag_model):
            post_save.connect(_note_loaded, sender=part)
    connection_created.connect(_watch)
    _watch(connection=connections[DEFAULT_DB_ALIAS])  # a statement may have run before


def _assignments(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the beginnings of the ORM's assignments to those of the fields that the model has.

    An assignment names only the column, a condition the table too.
    """
    assignments = []
    for name in names:
        try:
            field: Any = model._meta.get_field(name)
        except FieldDoesNotExist:
            continue  # such as an account that is always active
        assignments.append(f" {_quote(field.column)} = ")
    return tuple(assignments)


def _quote(name: str) -> str:
    return connections[DEFAULT_DB_ALIAS].ops.quote_name(name)


def _watch(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    wrappers = connection.execute_wrappers
    if connection.alias == DEFAULT_DB_ALIAS and _move_the_log not in wrappers:
        wrappers.insert(0, _move_the_log)  # the last one may belong to a block that is about to remove it


def _move_the_log(
    execute: Callable[..., Any],
    statement: Any,
    parameters: Any,
    many: bool,  # noqa: FBT001  Django hands it over like this
    context: dict[str, Any],
) -> Any:
    """Execute a statement; advance the log if it changes data that answers depend on."""
    if not isinstance(statement, str) or statement.startswith("SELECT"):
        return execute(statement, parameters, many, context)
    table = _changed_table(statement)
    if table is None:
        return execute(statement, parameters, many, context)
    database = context["connection"]
    if database.in_atomic_block:
        result = execute(statement, parameters, many, context)
        if events.is_open() or _log_table.exists(database):
            events.touch(unless_logged=table.is_logged)
        return result
    if " RETURNING " in statement:
        # SQLite cannot end a transaction before the row is fetched: `_note_inserted` advances the log.
        return execute(statement, parameters, many, context)
    with transaction.atomic():
        result = execute(statement, parameters, many, context)
        if _log_table.exists(database):
            events.touch(unless_logged=table.is_logged)
    return result


def _note_loaded(*, raw: bool, **_signal: Any) -> None:
    if raw:
        events.touch()


def _note_inserted(*, sender: type[models.Model], created: bool, **_signal: Any) -> None:
    if created:
        events.touch(unless_logged=_tables[_quote(sender._meta.db_table)].is_logged)


def _changed_table(statement: str) -> _Table | None:
    """Return the table that a statement changes, if answers depend on the changed columns."""
    change = _CHANGE.match(statement)
    if change is None:
        if statement.startswith(_CHANGES_OF_TABLES):
            _log_table.forget()
        return None
    table = _tables.get(change[2])
    return table if table is not None and table.is_changed_by(change[1], statement) else None


class _LogTable:
    """Whether the table of the log exists: earlier migrations change rows before it does.

    The answer is cached once it exists, until a migration changes tables.
    """

    def __init__(self) -> None:
        self._was_found = False

    def exists(self, database: BaseDatabaseWrapper) -> bool:
        """Check for the table, unless it was found before."""
        if not self._was_found:
            with database.cursor() as cursor:
                self._was_found = LogPosition._meta.db_table in database.introspection.table_names(cursor)
        return self._was_found

    def forget(self) -> None:
        """Clear the cached answer, because tables change."""
        self._was_found = False


_log_table: Final = _LogTable()
