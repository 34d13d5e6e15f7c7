"""CSV: a header, and a row for each item. Pure.

A column is `input`, `groundTruth`, `externalId`, `metadata.<key>` or `requestContext.<key>`; every other
column is a member of the input. An export has a column `id`, too, and one such as `__toolMocks` for what
these columns cannot say. Cells are as people write them (`versioning.domain.texts`). One that a spreadsheet
would run, or that begins with an apostrophe, has an apostrophe before it.

Encodings and separators are found by `editor_client.shared.tables`, as for all tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from editor_client.shared import canonical, tags
from editor_client.shared.brief import brief
from editor_client.shared.tables import Table, read

from capabilities.evaluation.datasets.formats.rows import MEMBERS, Format, IdentifiedItem, Items, Row, row_of
from capabilities.evaluation.scoring.numbers import whole_number
from versioning.domain.csv_files import ESCAPED, escape_cell, lines
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.texts import format_value, typed_cell

MAX_COLUMNS: Final = 200
"""The keys of metadata and request contexts that get columns of their own in an export."""
_IDS: Final = ("id", "externalId")
_OPEN: Final = ("metadata", "requestContext")
_WHOLE: Final = "__"
WHOLES: Final = {f"{_WHOLE}{member}": member for member in MEMBERS}
"""The members of an item by the names of the columns that hold all of one."""
TAGS: Final = "tags"
LEFT_OUT: Final = ""
KEYED: Final = frozenset({"input", *_OPEN})
"""The members of an item that can have members in columns of their own."""
Type = Literal["auto", "text", "number", "commaNumber", "yesNo", "json"]
_YES_NO: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "yes", "y", "1", "x", "ja", "j", "wahr"), True),
    **dict.fromkeys(("false", "no", "n", "0", "nein", "falsch"), False),
}


class Column(NamedTuple):
    """What becomes of a column."""

    member: str
    """The member of the item, `tags`, the name of a column with a whole member, or `LEFT_OUT`."""
    key: str | None = None
    """The name of the member's own member; None for the member itself."""
    type: Type = "auto"

    @property
    def name(self) -> str:
        """The name of the column in a file, as messages have it."""
        if self.key is None:
            return self.member
        return self.key if self.member == "input" else f"{self.member}.{self.key}"

    @property
    def place(self) -> tuple[str, str | None]:
        """The member of the item where its values go, and the name in it; None for all of the member."""
        if self.member == TAGS:
            return "metadata", tags.MEMBER
        return WHOLES.get(self.member, self.member), self.key

    def value(self, cell: str) -> Any:
        """Return the value of a cell that is not empty; raises `Invalid`."""
        if self.member in _IDS:
            return text_in(cell)
        try:
            if self.member == TAGS:
                value = value_in(cell)
                return value if isinstance(value, list) else tags.listed_in(_unescaped(cell))
            return _READERS[self.type](_unescaped(cell))
        except Invalid as error:
            raise Invalid.field(self.name, error.issues[0].message) from None


_UNNAMED: Final = Column("input", "")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a person wants a table to be read, where its header does not say it."""

    separator: str = ""
    """`ONE_COLUMN` for none; by default it is looked for."""
    has_header: bool = True
    columns: Sequence[Column] | None = None
    """By default those that the header names."""


def column_of(name: str) -> Column:
    """Return what becomes of the column with this name; one without a name must be empty."""
    before, dot, key = name.partition(".")
    if name in _IDS or name in {"input", "groundTruth"} or name in WHOLES:
        return Column(name)
    if dot and before in KEYED:
        return Column(before, key)
    return Column("input", name)


def table_in(text: str, layout: Layout, *, is_known: Callable[[str], bool] | None = None) -> Table:
    """Return the table in a text; raises `Invalid`.

    Names that are known, by default those of the API, tell which separator is right.
    """
    return read(
        text,
        is_known=is_known or _is_own,
        separator=layout.separator,
        has_header=layout.has_header,
    )


def _is_own(name: str) -> bool:
    column = column_of(name)
    return column.member != "input" or column.name != name or name == "input"


def rows_in(text: str, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a table, read as a person wants it; raises `Invalid`."""
    table = table_in(text, layout)
    columns = layout.columns
    yield from rows_of(table, list(map(column_of, table.header)) if columns is None else columns)


def rows_of(table: Table, columns: Sequence[Column]) -> Iterator[Row]:
    """Yield the rows of a table with these columns; raises `Invalid` for two of the same."""
    counts = Counter(
        column.place for column in columns if column.member != LEFT_OUT and column.place != _UNNAMED.place
    )
    twice = next((column for column in columns if counts[column.place] > 1), None)
    if twice is not None:
        raise Invalid.field("header", Message("names the column {name!r} twice", name=brief(twice.name)))
    for number, line in enumerate(table.rows, start=1):
        if any(line):
            yield row_of(number, partial(_item, columns, line))


def _item(columns: Sequence[Column], line: Sequence[str]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    keyed: dict[str, dict[str, Any]] = {}
    for column, value in _values(columns, line):
        member, key = column.place
        if key is None:
            item[member] = value
        else:
            keyed.setdefault(member, {})[key] = value
    for member, own in keyed.items():
        whole = item.get(member, {})
        taken = whole.keys() & own.keys() if isinstance(whole, dict) else own.keys()
        if taken:
            message = Message("has a value of its own, so that {name!r} cannot be a member", name=min(taken))
            raise Invalid.field(member, message)
        item[member] = {**whole, **own}
    return item


def _values(columns: Sequence[Column], line: Sequence[str]) -> list[tuple[Column, Any]]:
    """Return the values of a row, with what becomes of them; raises `Invalid` with all that is wrong."""
    if len(line) > len(columns):
        counts = {"cells": len(line), "columns": len(columns)}
        raise Invalid.field("row", Message("has {cells} cells for {columns} columns", **counts))
    values: list[tuple[Column, Any]] = []
    issues: list[Issue] = []
    for column, cell in zip(columns, line, strict=False):
        if not cell or column.member == LEFT_OUT:
            continue
        if column.place == _UNNAMED.place:
            raise Invalid.field("header", Message("has no name for a column that is not empty"))
        try:
            values.append((column, column.value(cell)))
        except Invalid as error:
            issues += error.issues
    if issues:
        raise Invalid(issues)
    return values


def _write(items: Items) -> Iterator[str]:
    """Return the lines; the items are read twice, because the columns stand first."""
    columns = _columns(items())
    return lines(columns, (_cells(item, columns) for item in items()))


def _columns(items: Iterable[IdentifiedItem]) -> list[str]:
    keys: dict[str, None] = {}
    wholes: dict[str, None] = {}
    for item in items:
        for member in _OPEN:
            for key in item.get(member, ()):
                name = f"{member}.{key}"
                if len(keys) < MAX_COLUMNS and name == name.strip():  # a header is read without white space
                    keys[name] = None
        wholes |= dict.fromkeys(f"{_WHOLE}{member}" for member in MEMBERS if _is_whole(item, member, keys))
    return [*_IDS, "input", "groundTruth", *sorted(keys), *(name for name in WHOLES if name in wholes)]


def _is_whole(item: IdentifiedItem, member: str, keys: Iterable[str]) -> bool:
    """Say whether a member needs a cell of its own, because other columns cannot say it."""
    if member not in item or member in {"input", "groundTruth"}:
        return False
    if member not in _OPEN:
        return True
    return not item[member] or any(f"{member}.{key}" not in keys for key in item[member])


def _cells(item: IdentifiedItem, columns: list[str]) -> Iterator[str]:
    whole = {member for member in MEMBERS if _is_whole(item, member, columns)}
    for name in columns:
        before, _, key = name.partition(".")
        if name in WHOLES:
            member = WHOLES[name]
            yield cell_of(item[member]) if member in whole else ""
        elif before in _OPEN:
            known = before not in whole and key in item.get(before, {})
            yield cell_of(item[before][key]) if known else ""
        else:
            yield cell_of(item[name]) if item.get(name) is not None or name == "input" else ""


def cell_of(value: Any) -> str:
    """Return the text of a cell; an empty one is no value."""
    return escape_cell(format_value(value))


def value_in(cell: str) -> Any:
    """Return the value of a cell."""
    return typed_cell(_unescaped(cell))


def _unescaped(cell: str) -> str:
    """Return what a cell holds without the apostrophe with which an export writes it."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(ESCAPED) else cell


def text_in(cell: str) -> str:
    """Return the value of a cell that holds a text, which may look like a number."""
    value = value_in(cell)
    return value if isinstance(value, str) else _unescaped(cell)


def _number(text: str, *, comma: bool) -> int | float:
    """Return the number that a text is; raises `Invalid`."""
    number = whole_number(text, comma=comma)
    if number is None:
        raise Invalid.field("", Message("is no number: {text!r}", text=brief(text)))
    is_short = number.adjusted() < _MAX_DIGITS or "e" not in text.casefold()
    value = int(number) if is_short and number == number.to_integral_value() else float(number)
    if (fault := canonical.fault(value)) is not None:
        raise Invalid.field("", fault[1])
    return value


def _yes_or_no(text: str) -> bool:
    """Return the answer in a text, in English or German; raises `Invalid`."""
    found = _YES_NO.get(text.strip().casefold())
    if found is None:
        raise Invalid.field("", Message("is neither yes nor no: {text!r}", text=brief(text)))
    return found


_MAX_DIGITS: Final = 21
"""Longer whole numbers that are written with an exponent have one in JSON, too."""
_READERS: Final[Mapping[Type, Callable[[str], Any]]] = {
    "auto": typed_cell,
    "text": str,
    "number": partial(_number, comma=False),
    "commaNumber": partial(_number, comma=True),
    "yesNo": _yes_or_no,
    "json": canonical.parse,
}
TYPES: Final = frozenset(_READERS)


def _read(text: str) -> Iterator[Row]:
    return rows_in(text, Layout())


TABLE: Final = Format(media_type="text/csv; charset=utf-8", suffix="csv", read=_read, write=_write)
