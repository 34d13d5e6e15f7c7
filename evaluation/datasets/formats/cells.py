"""Values in the cells of a table, which spreadsheets read and write. Pure.

A text is itself, unless it reads as JSON: then it is quoted. Other values are JSON. A cell that a spreadsheet
would run, or that begins with an apostrophe, has an apostrophe before it.
"""

from __future__ import annotations

from typing import Any, Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid

_ESCAPED: Final = ("=", "+", "-", "@", "'", "\t", "\r", "\n")
"""What a cell begins with that is written with an apostrophe before it."""


def write(value: Any) -> str:
    """Return the text of a cell; an empty one is no value."""
    text = shown(value)
    return f"'{text}" if text.startswith(_ESCAPED) else text


def read(cell: str) -> Any:
    """Return the value of a cell."""
    return typed(cell.removeprefix("'"))


def shown(value: Any) -> str:
    """Return a value as people read and write it: a text is itself, unless it reads as JSON."""
    is_itself = isinstance(value, str) and value and not _reads_as_json(value)
    text: str = value if is_itself else canonical.dump(value)
    return text


def typed(text: str) -> Any:
    """Return the value that a person has written: JSON, or else the text itself."""
    try:
        return canonical.parse(text)
    except Invalid:
        return text


def read_text(cell: str) -> str:
    """Return the value of a cell that holds a text, which may look like a number."""
    value = read(cell)
    return value if isinstance(value, str) else cell.removeprefix("'")


def _reads_as_json(text: str) -> bool:
    try:
        canonical.parse(text)
    except Invalid:
        return False
    return True
