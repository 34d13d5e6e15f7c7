"""Tables from spreadsheets and people: their encoding, their separator and their columns. Pure.

Every reader of CSV in the client and the service begins here.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from editor_client.shared.errors import Invalid, Message

SEPARATORS: Final = ("\t", ";", "|", ",")
"""The separators to detect; those that are rare in texts come first."""
MAX_CELL: Final = 256 * 1024
MARK: Final = "\ufeff"
"""The byte order mark, with which spreadsheets recognise UTF-8."""
WINDOWS: Final = "windows-1252"
"""The encoding of files without a byte order mark from spreadsheets in Western Europe."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark begins the same way
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODINGS: Final = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e|-sig)?|ascii|cp125[0-8]|cp(?:437|850|852|866|874|932|949|950)|iso8859-[0-9]+"
    r"|mac-roman|koi8-[ru]|shift_jis|euc_jp|euc_kr|gbk|gb2312|gb18030|big5"
)
"""The encodings that callers may name: decoding takes linear time."""
ONE_COLUMN: Final = "\x1f"
"""The value of `separator` in `read` for a table of one column."""
_DECLARED: Final = re.compile(r'\A"?sep=([^\w\s"]|\t)"?(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
"""The declaration in the first line that spreadsheets write and read but do not show."""

csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))


@dataclass(frozen=True)
class Table:
    """A header and the rows below it."""

    header: list[str]
    """The names of the columns, without white space around them; without empty columns at the end."""
    rows: list[list[str]]
    """The cells as typed. Empty rows are kept, so that rows can be counted."""
    separator: str
    """Empty for a single column."""


class _Dialect(NamedTuple):
    """The dialect of a table: how its cells are separated and quoted."""

    separator: str
    skips_spaces: bool = False
    """Whether a quoted cell may have spaces before it."""
    is_quoted: bool = True

    def lines(self, text: str) -> Iterator[list[str]]:
        """Yield the cells of each line; raises `Invalid` with the line."""
        separator = self.separator
        if separator == ONE_COLUMN:
            characters = set(text)
            separator = next(
                character for character in map(chr, range(0xE000, 0x110000)) if character not in characters
            )
        rows = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=separator,
            skipinitialspace=self.skips_spaces,
            quoting=csv.QUOTE_MINIMAL if self.is_quoted else csv.QUOTE_NONE,
            strict=True,
        )
        try:
            yield from rows
        except csv.Error as error:
            reason = str(error)
            if self.separator == ONE_COLUMN:
                reason = reason.replace(f"'{separator}'", "a line break")
            message = Message("is not valid CSV in line {line}: {reason}", line=rows.line_num, reason=reason)
            raise Invalid.field("body", message) from None


def decode(content: bytes, *encodings: str) -> tuple[str, str]:
    """Return the text of a file without its byte order mark, and its encoding.

    A mark determines the encoding; without one, the first fitting encoding is used (by default UTF-8 only).
    Raises `Invalid` with the line that fits none of them, and for unsupported encodings.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            content, encodings = content[len(mark) :], (encoding,)
            break
    problem: Invalid | None = None
    for encoding in encodings or ("utf-8",):
        if problem is not None:
            text = content.decode("utf-8", "replace")
            if sum(character > "\x7f" for character in text) > 2 * text.count("\ufffd"):
                break  # most characters beyond ASCII are valid UTF-8: it is damaged UTF-8
        try:
            name = codecs.lookup(encoding).name
        except (LookupError, ValueError):
            name = ""
        if not _ENCODINGS.fullmatch(name):
            raise Invalid.field(
                "body", Message("is in the encoding {name!r}, which is not read", name=encoding[:60])
            )
        try:
            return content.decode(name), encoding
        except UnicodeDecodeError as error:
            line = content[: error.start].decode(name, "replace").count("\n") + 1
            values = {"encoding": encoding.upper(), "line": line}
            problem = problem or Invalid.field(
                "body", Message("is not valid {encoding} in line {line}", **values)
            )
    assert problem is not None  # noqa: S101  at least one encoding was tried
    raise problem


def read(
    text: str,
    *,
    is_known: Callable[[str], bool] = lambda _name: False,
    separator: str = "",
    has_header: bool = True,
) -> Table:
    """Return the table in a text.

    The separator is the one that gives the same number of cells in every row, and more than one cell if any
    does; otherwise that of most rows. Of several, the one with the most known names is used. A first line
    such as `sep=;` and the argument `separator` take precedence. Without a header, all columns are unnamed.
    Raises `Invalid` with the line if no separator gives a table.
    """
    text = text.removeprefix(MARK)
    declared = _DECLARED.match(text)
    if declared is not None:
        text, separator = text[declared.end() :], separator or declared[1]
    try:
        dialect = _dialect(text, is_known, (separator,) if separator else SEPARATORS)
        lines = list(dialect.lines(text))
    except Invalid as error:
        issue = error.issues[0]
        if declared is None or not isinstance(issue.message, Message):
            raise
        values = {**issue.message.values, "line": issue.message.values["line"] + 1}  # below the declaration
        raise Invalid.field(issue.field, Message(issue.message.template, **values)) from None
    start = next((number for number, line in enumerate(lines) if any(line)), len(lines))
    used = [_count_used(line) for line in lines]
    if has_header:
        header = [name.strip() for name in lines[start]] if start < len(lines) else []
        rows = lines[start + 1 :]
        # Spreadsheets write empty columns at the end for deleted cells.
        width = max(_count_used(header), min(len(header), max(used, default=0)))
        header = header[:width]
    else:
        header, rows = [""] * max(used, default=0), lines[start:]
    width = len(header)
    rows = [row[:width] if len(row) > width and not any(row[width:]) else row for row in rows]
    return Table(header, rows, "" if dialect.separator == ONE_COLUMN else dialect.separator)


def _count_used(line: list[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return next((number for number in range(len(line), 0, -1) if line[number - 1]), 0)


class _Fit(NamedTuple):
    """The fit of a dialect: criteria in order of importance."""

    is_even: bool
    """Whether every row has as many cells as the header."""
    known_names: int
    """The number of known names in the header."""
    has_whole_quotes: bool
    """Whether quotation marks enclose whole cells only."""
    share: float
    """The share of rows with as many cells as the header."""


def _dialect(text: str, is_known: Callable[[str], bool], separators: Sequence[str]) -> _Dialect:
    """Return the dialect of a table; raises `Invalid` for an unreadable table.

    A single separator is always used.
    """
    best: tuple[_Fit, _Dialect] | None = None
    problem: Invalid | None = None
    for separator in separators:
        for dialect in _dialects(text, separator):
            fit, fault = _fit(text, dialect, is_known)
            problem = problem or fault
            if fit is None or (not fit.is_even and not dialect.is_quoted):
                continue
            if best is None or fit > best[0]:
                best = fit, dialect
            if fit.is_even and fit.has_whole_quotes:
                break
    if best is not None:
        return best[1]
    if problem is not None:
        raise problem
    if len(separators) == 1 and separators[0] != ONE_COLUMN:
        return _Dialect(separators[0])
    # Quotation marks belong to texts copied unescaped, rather than enclose cells, if they close in each line
    # and some enclose a part of a cell.
    is_quoted = any(line.count('"') % 2 for line in text.splitlines())
    is_quoted = is_quoted or _has_whole_quotes(text, _Dialect(ONE_COLUMN))
    return _Dialect(ONE_COLUMN, is_quoted=is_quoted)


def _dialects(text: str, separator: str) -> Iterator[_Dialect]:
    """Yield the dialects that may fit a text with this separator."""
    if separator in text:
        yield _Dialect(separator)
    if f'{separator} "' in text:
        yield _Dialect(separator, skips_spaces=True)
    if separator == "\t" and separator in text and '"' in text:
        yield _Dialect(separator, is_quoted=False)  # some spreadsheets copy quotation marks unescaped


def _fit(text: str, dialect: _Dialect, is_known: Callable[[str], bool]) -> tuple[_Fit | None, Invalid | None]:
    """Return the fit of a dialect, or why a table of several columns cannot be read in it."""
    header: list[str] = []
    counts: Counter[int] = Counter()
    try:
        for line in dialect.lines(text):
            if not header and any(line):
                header = line
            elif any(line):
                counts[len(line)] += 1
            if len(header) == 1:
                return None, None
    except Invalid as error:
        return None, None if dialect.skips_spaces else error
    rows = counts.total()
    known_names = sum(is_known(name.strip()) for name in header)
    is_even = len(header) > 1 and counts[len(header)] == rows
    if (
        not is_even and not known_names and rows - counts[1] <= rows / 2
    ):  # a text that contains the separator occasionally
        return None, None
    share = counts[len(header)] / rows if rows else 1.0
    return _Fit(is_even, known_names, _has_whole_quotes(text, dialect), share), None


def _has_whole_quotes(text: str, dialect: _Dialect) -> bool:
    """Return whether no unquoted cell contains a quotation mark."""
    if '"' not in text:
        return True
    spaces = " *+" if dialect.skips_spaces else ""
    separator = re.escape(dialect.separator)
    cell = rf'(?:{spaces}"(?:[^"]++|"")*+"|[^"\r\n{separator}]*+)'
    return re.fullmatch(rf"{cell}(?:(?:{separator}|\r\n|\r|\n){cell})*+", text) is not None
