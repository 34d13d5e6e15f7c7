"""Tables as CSV, as spreadsheets read them. Pure."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from editor_client.shared.tables import MARK

ESCAPED: Final = ("=", "+", "-", "@", "'", "\t", "\r", "\n")
"""The first characters of cells that are escaped with an apostrophe."""


def escape_cell(text: str) -> str:
    """Return the text of a cell, with an apostrophe before a formula that a spreadsheet would run."""
    return f"'{text}" if text.startswith(ESCAPED) else text


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
