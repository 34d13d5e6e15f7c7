"""Text keys in queries: the same rules on both databases, those of `editor_client.shared.text_keys`.

SQLite calls Python. PostgreSQL has a function that migration 0028 creates from Python's tables of characters,
and a collation for names, of ICU where PostgreSQL is built with it.

Queries that search or compare texts without regard to case use `Caseless` with the conditions `contains`,
`equals` and `begins`. The results of Django's own lookups, such as `icontains`, depend on the database, so
`tests/models/test_text_keys.py` refuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import Func, Q, TextField, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import Exact, GreaterThan
from django.db.models.sql.compiler import SQLCompiler
from editor_client.shared.text_keys import caseless, collation_key

_CASELESS: Final = "editor_caseless"
_SORT_TEXT: Final = "editor_sort_text"
_COLLATION: Final = "editor_names"
_COMMON: Final = range(0x0370, 0x0530)
"""Greek and Cyrillic: letters that are frequent and do not decompose into ASCII letters."""


class Caseless(Func):
    """The key of a text column for comparing without regard to case."""

    function = _CASELESS
    arity = 1
    output_field = TextField()


class ByName(Func):
    """The sort key for the order of names that people expect."""

    function = _SORT_TEXT
    arity = 1
    output_field = TextField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, Any]:
        """Return the expression with the collation for names."""
        template = f'%(function)s(%(expressions)s) COLLATE "{_COLLATION}"'
        return self.as_sql(compiler, connection, template=template, **context)


def contains(text: Any, sought: Any) -> Q:
    """Return the condition that one text, such as a column, contains another exactly.

    It does not use LIKE: SQLite's ignores the case of ASCII letters, and both databases match its patterns by
    starting again at every character, which takes quadratic time.
    """
    return Q(GreaterThan(StrIndex(text, sought), 0))


def equals(text: Any, sought: Any) -> Q:
    """Return the condition that one text is another exactly."""
    return Q(Exact(text, sought))


def begins(text: Any, sought: Any) -> Q:
    """Return the condition that one text begins with another exactly."""
    return Q(Exact(StrIndex(text, sought), 1))


def contains_caseless(column: Any, text: str) -> Q:
    """Return the condition that a column, or an expression, contains a text, without regard to case."""
    return contains(Caseless(column), Value(caseless(text)))


def contains_words(columns: Sequence[str], text: str) -> Q:
    """Return the condition that each word of a text is in one of the columns, without regard to case."""
    condition = Q()
    for word in text.split():
        condition &= reduce(or_, (contains_caseless(column, word) for column in columns))
    return condition


def equals_caseless(column: Any, text: str) -> Q:
    """Return the condition that a column, or an expression, is a text, without regard to case."""
    return equals(Caseless(column), Value(caseless(text)))


def connect() -> None:
    """Install the functions on every connection to SQLite, including an open one."""
    connection_created.connect(_add_functions, dispatch_uid=__name__)
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            _add_functions(connection)


def _add_functions(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    if connection.vendor != "sqlite":
        return
    for name, function in ((_CASELESS, caseless), (_SORT_TEXT, collation_key)):
        connection.connection.create_function(name, 1, _nullable(function), deterministic=True)


def _nullable(function: Any) -> Any:
    return lambda text: None if text is None else function(str(text))


def create_in_postgresql(schema_editor: Any) -> None:
    """Create the functions and the collation; replaces functions of an earlier Unicode version."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_collation WHERE collprovider = 'i' AND collname = 'und-x-icu'")
        has_icu = cursor.fetchone() is not None
        for statement in postgresql_statements(has_icu=has_icu):
            cursor.execute(statement)


def postgresql_statements(*, has_icu: bool) -> list[str]:
    """Return the statements that create the functions and the collation in PostgreSQL."""
    header = "RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$SELECT "
    common, uncommon, expanded = _folds()
    # `translate` looks each character up from the beginning of its list: most texts need none or a short one.
    other = f"translate(text, {_quote(uncommon)}, {_quote(uncommon.values())})"
    for letter, letters in expanded.items():
        other = f"replace({other}, {_quote(letter)}, {_quote(letters)})"
    rare = _character_class([*uncommon, *expanded])
    fold = (
        f"CASE WHEN text ~ {rare} THEN {other} ELSE text END FROM ("  # noqa: S608
        f"SELECT CASE WHEN text ~ {_character_class(common)}"
        f" THEN translate(text, {_quote(common)}, {_quote(common.values())}) ELSE text END FROM ("
        'SELECT lower(normalize($1, NFD) COLLATE "C")) AS plain (text)) AS folded (text)'
    )
    key = (
        'CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C")'
        f" ELSE normalize({_CASELESS}_letters($1), NFC) END"
    )
    stripped = f"regexp_replace(normalize({_CASELESS}($1), NFKD), '[\u0300-\u036f]', '', 'g')"
    collation = "(provider = icu, locale = 'und')" if has_icu else 'FROM "C"'
    return [
        f"CREATE OR REPLACE FUNCTION {_CASELESS}_letters(text) {header}{fold}$body$",
        f"CREATE OR REPLACE FUNCTION {_CASELESS}(text) {header}{key}$body$",
        f"CREATE OR REPLACE FUNCTION {_SORT_TEXT}(text) {header}{'$1' if has_icu else stripped}$body$",
        f"CREATE COLLATION IF NOT EXISTS {_COLLATION} {collation}",
    ]


def _folds() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return how letters are folded in a decomposed text without ASCII capitals.

    Frequent letters first, then others, then those that become several.
    """
    common: dict[str, str] = {}
    uncommon: dict[str, str] = {}
    expanded: dict[str, str] = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x110000)):
        letter = chr(code)
        folded = letter.casefold()
        if folded == letter:
            continue
        target = expanded if len(folded) > 1 else common if code in _COMMON else uncommon
        target[letter] = folded
    return common, uncommon, expanded


def _character_class(letters: Any) -> str:
    """Return a regular expression for one of the letters, as a literal of SQL."""
    codes = sorted(map(ord, letters))
    gaps = [place for place, (code, other) in enumerate(pairwise(codes)) if other != code + 1]
    ends = pairwise([-1, *gaps, len(codes) - 1])
    ranges = (f"{chr(codes[before + 1])}-{chr(codes[last])}" for before, last in ends)
    return f"'[{''.join(ranges)}]'"


def _quote(letters: Any) -> str:
    return "'{}'".format("".join(letters))
