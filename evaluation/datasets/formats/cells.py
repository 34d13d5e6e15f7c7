"""Values in the cells of a table, which spreadsheets read and write. Pure.

They are as people write them (`versioning.domain.written`). A cell that a spreadsheet would run, or that
begins with an apostrophe, has an apostrophe before it.
"""

from __future__ import annotations

from typing import Any, Final

from versioning.domain.written import shown, typed

_ESCAPED: Final = ("=", "+", "-", "@", "'", "\t", "\r", "\n")
"""What a cell begins with that is written with an apostrophe before it."""


def write(value: Any) -> str:
    """Return the text of a cell; an empty one is no value."""
    text = shown(value)
    return f"'{text}" if text.startswith(_ESCAPED) else text


def read(cell: str) -> Any:
    """Return the value of a cell."""
    return typed(cell.removeprefix("'"))


def read_text(cell: str) -> str:
    """Return the value of a cell that holds a text, which may look like a number."""
    value = read(cell)
    return value if isinstance(value, str) else cell.removeprefix("'")
