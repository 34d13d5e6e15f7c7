"""CSV: a header, and a row for each item. Pure.

A column is `input`, `groundTruth`, `externalId`, `metadata.<key>` or `requestContext.<key>`; every other
column is a member of the input. An export has a column `id`, too, and one such as `__toolMocks` for what
these columns cannot say. Cells are as people write them (`versioning.domain.written`). One that a spreadsheet
would run, or that begins with an apostrophe, has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from editor_client.shared.brief import brief

from evaluation.datasets.formats.rows import MEMBERS, Format, IdentifiedItem, Items, Row, row_of
from evaluation.datasets.items import MAX_ITEM
from versioning.domain.errors import Invalid, Message
from versioning.domain.written import shown, typed

MAX_COLUMNS: Final = 200
"""The keys of metadata and request contexts that get columns of their own in an export."""
_ESCAPED: Final = ("=", "+", "-", "@", "'", "\t", "\r", "\n")
"""What a cell begins with that is written with an apostrophe before it."""
MARK: Final = "\ufeff"
"""The byte order mark, without which spreadsheets take UTF-8 for an older encoding."""
_IDS: Final = ("id", "externalId")
_OPEN: Final = ("metadata", "requestContext")
_WHOLE: Final = "__"
_WHOLES: Final = {f"{_WHOLE}{member}": member for member in MEMBERS}

csv.field_size_limit(max(csv.field_size_limit(), MAX_ITEM))


def _read(text: str) -> Iterator[Row]:
    text = text.removeprefix(MARK)
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = next((one for one in ",;\t" if one in first), ",")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _rows(lines)
    except csv.Error as error:
        message = Message("is not valid CSV in line {line}: {reason}", line=lines.line_num, reason=str(error))
        raise Invalid.field("body", message) from None


def from_spreadsheet(text: str) -> str:
    """Return cells that were copied from a spreadsheet, which have tabs between them, as CSV."""
    if "\t" not in text.partition("\n")[0]:
        return text
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(
        csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    )
    return out.getvalue()


def _rows(lines: Iterable[list[str]]) -> Iterator[Row]:
    rows = iter(lines)
    header = next((line for line in rows if any(line)), [])
    [(name, count), *_] = Counter(header).most_common(1) or [("", 0)]
    if count > 1:
        raise Invalid.field("header", Message("names the column {name!r} twice", name=brief(name)))
    for number, line in enumerate(rows, start=1):
        if any(line):
            yield row_of(number, partial(_item, header, line))


def _item(header: list[str], line: list[str]) -> dict[str, Any]:
    if len(line) > len(header):
        counts = {"cells": len(line), "columns": len(header)}
        raise Invalid.field("row", Message("has {cells} cells for {columns} columns", **counts))
    item: dict[str, Any] = {}
    own: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    for name, cell in zip(header, line, strict=False):
        if cell and name in _WHOLES:
            whole[_WHOLES[name]] = value_in(cell)
        elif cell:
            _put(item, own, name, cell)
    item |= whole
    if own:
        given = item.setdefault("input", {})
        if not isinstance(given, dict):
            message = Message("has a value of its own, so that {name!r} cannot be a member", name=min(own))
            raise Invalid.field("input", message)
        item["input"] = {**given, **own}
    return item


def _put(item: dict[str, Any], own: dict[str, Any], name: str, cell: str) -> None:
    before, dot, key = name.partition(".")
    if name in _IDS:
        item[name] = text_in(cell)
    elif name in {"input", "groundTruth"}:
        item[name] = value_in(cell)
    elif dot and before in _OPEN:
        item.setdefault(before, {})[key] = value_in(cell)
    elif dot and before == "input":
        own[key] = value_in(cell)
    elif not name:
        raise Invalid.field("header", Message("has no name for a column that is not empty"))
    else:
        own[name] = value_in(cell)


def _write(items: Items) -> Iterator[str]:
    """Return the lines; the items are read twice, because the columns stand first."""
    columns = _columns(items())
    return lines(columns, (_cells(item, columns) for item in items()))


def lines(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table, as spreadsheets read them: with a mark that the text is UTF-8."""
    out = io.StringIO(MARK, newline="")
    out.seek(len(MARK))
    writer = csv.writer(out, lineterminator="\r\n")
    for row in itertools.chain([header], rows):
        writer.writerow(row)
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def _columns(items: Iterable[IdentifiedItem]) -> list[str]:
    keys: dict[str, None] = {}
    wholes: dict[str, None] = {}
    for item in items:
        for member in _OPEN:
            for key in item.get(member, ()):
                if len(keys) < MAX_COLUMNS:
                    keys[f"{member}.{key}"] = None
        wholes |= dict.fromkeys(f"{_WHOLE}{member}" for member in MEMBERS if _is_whole(item, member, keys))
    return [*_IDS, "input", "groundTruth", *sorted(keys), *(name for name in _WHOLES if name in wholes)]


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
        if name in _WHOLES:
            member = _WHOLES[name]
            yield cell_of(item[member]) if member in whole else ""
        elif before in _OPEN:
            known = before not in whole and key in item.get(before, {})
            yield cell_of(item[before][key]) if known else ""
        else:
            yield cell_of(item[name]) if item.get(name) is not None or name == "input" else ""


def cell_of(value: Any) -> str:
    """Return the text of a cell; an empty one is no value."""
    text = shown(value)
    return f"'{text}" if text.startswith(_ESCAPED) else text


def value_in(cell: str) -> Any:
    """Return the value of a cell."""
    return typed(cell.removeprefix("'"))


def text_in(cell: str) -> str:
    """Return the value of a cell that holds a text, which may look like a number."""
    value = value_in(cell)
    return value if isinstance(value, str) else cell.removeprefix("'")


TABLE: Final = Format(media_type="text/csv; charset=utf-8", suffix="csv", read=_read, write=_write)
