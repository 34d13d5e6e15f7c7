"""Find resources by members of their metadata, equal in type and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from django.db.models import F, Func, QuerySet, TextField
from django.db.models.fields.json import KeyTransform
from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Message

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_KEYS: Final = 100
JSON_OBJECT: Final = {
    "type": "string",
    "contentMediaType": "application/json",
    "pattern": r"^\s*\{[\s\S]*\}\s*$",
}
"""The schema of a text that is a JSON object."""


class JsonType(Func):
    """The JSON type of a member of the metadata; without it, true and "true" are equal in SQLite."""

    output_field = TextField()

    def __init__(self, key: str) -> None:
        if not _KEY.fullmatch(key):  # it becomes part of the statement
            raise ValueError(key)
        super().__init__(F("metadata"))
        self.key = key

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the expression for SQLite."""
        template = f"JSON_TYPE(%(expressions)s, '$.{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the expression for PostgreSQL."""
        template = f"jsonb_typeof(%(expressions)s -> '{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)


def members(text: str, *, field: str) -> dict[str, Any]:
    """Return the members to find, from a JSON object; raises `Invalid` for the field."""
    wanted = canonical.sorted_by_key(canonical.parse(text, field=field))
    if not isinstance(wanted, dict):
        raise Invalid.field(field, "must be a JSON object")
    if len(wanted) > MAX_KEYS:
        raise Invalid.field(field, Message("must not ask for more than {limit} keys", limit=MAX_KEYS))
    for key in wanted:
        if not _KEY.fullmatch(key):
            raise Invalid.field(f"{field}.{key}", "must begin with a letter or _, then letters, digits, _")
    return wanted


def with_members(rows: QuerySet[Any], wanted: Mapping[str, Any]) -> QuerySet[Any]:
    """Filter by metadata that has all these members."""
    for position, (key, value) in enumerate(wanted.items()):
        member, kind = f"_metadata_{position}", f"_metadata_{position}_type"
        rows = rows.alias(**{member: KeyTransform(key, "metadata"), kind: JsonType(key)})
        rows = rows.filter(**{member: value, f"{kind}__in": _type_names(value)})
    return rows


def has_members(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Apply the same rule to metadata in memory."""
    return all(key in metadata and canonical.same(metadata[key], value) for key, value in wanted.items())


def _type_names(value: Any) -> list[str]:
    """Return the names that SQLite and PostgreSQL have for the JSON type of a value."""
    if isinstance(value, bool):
        return [str(value).lower(), "boolean"]
    names: dict[type, list[str]] = {
        str: ["text", "string"],
        int: ["integer", "real", "number"],
        float: ["integer", "real", "number"],
        list: ["array"],
        dict: ["object"],
    }
    return names.get(type(value), ["null"])
