"""The formats of files with items: JSON Lines, promptfoo's test cases, and CSV. Pure.

Test cases: `vars` are the input, an assertion of equality has the ground truth. Members of test cases that
items lack (other assertions, a description, options) are stored unchanged in the item's metadata; members of
items that test cases lack are exported in theirs. Nothing in a file is executed, and no other file is read.
promptfoo executes its input, so an export contains only data. Parts that it would execute (templates,
references to files, assertions with code) are in the metadata of the test case, as JSON in a text, which an
import reads.

CSV: a header, and a row for each item. A column is `input`, `groundTruth`, `externalId`, `metadata.<key>` or
`requestContext.<key>`; every other column is a member of the input. An export also has a column `id`, and
columns such as `__toolMocks` for values that other columns cannot represent. Cells are as people write them
(`versioning.domain.texts`). A cell that a spreadsheet would run, or that begins with an apostrophe, is
preceded by an apostrophe. Encodings and separators are found by `editor_client.shared.tables`, as for all
tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Any, Final, Literal, NamedTuple

from editor_client.shared import canonical, dataset_items, promptfoo, tags, yaml_files
from editor_client.shared.clipping import brief
from editor_client.shared.tables import Table, read

from capabilities.evaluation.scoring.scoring import whole_number
from versioning.domain.csv_files import ESCAPED, escape_cell, lines
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.texts import format_value, typed_cell

IdentifiedItem = Mapping[str, Any]
"""The members of an item as callers set them, with its `id`, and its `externalId` if it has one."""
Items = Callable[[], Iterable[IdentifiedItem]]
"""Returns the items of an export from the beginning on each call."""
MEMBERS: Final = (
    *("input", "groundTruth", "expectedTrajectory", "toolMocks", "unmockedToolPolicy"),
    *("scorerIds", "requestContext", "metadata", "source"),
)
"""The members of an item that callers set."""


class Row(NamedTuple):
    """A row of a file: its number, from 1, with its item or its issues."""

    number: int
    item: dict[str, Any] = {}
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of files with items."""

    media_type: str
    suffix: str
    read: Callable[[str], Iterator[Row]]
    """The rows of a file; raises `Invalid` for a file that has none."""
    write: Callable[[Items], Iterator[str]]
    """The parts of a file."""


def make_row(number: int, make: Callable[[], dict[str, Any]]) -> Row:
    """Return the row with the new item, or with the issues raised for it."""
    try:
        return Row(number, make())
    except Invalid as error:
        return Row(number, issues=tuple(error.issues))


def _read_json_lines(text: str) -> Iterator[Row]:
    def item_in(line: str) -> dict[str, Any]:
        value = canonical.parse(line, field="row")
        if not isinstance(value, dict):
            raise Invalid.field("row", Message("must be a JSON object"))
        return value

    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield make_row(number, partial(item_in, line))


_ITEM_MEMBERS: Final = "__editor"
"""The member of a test case's metadata for data that test cases cannot represent, as JSON in a text."""
_TEST_MEMBERS: Final = "promptfoo"
"""The member of an item's metadata for data that items cannot represent."""
_REFERENCES: Final = ("equals", "similar", "levenshtein")
"""The assertions that compare with a reference."""
_READ: Final = frozenset({"vars", "assert", "metadata"})
"""The members of a test case that become members of an item."""
_DATA: Final = frozenset({"description", "threshold", "options"})
"""The members of test cases that an export writes, besides those that it reads."""
_OPTIONS: Final = frozenset({"disableVarExpansion"})
_ASSERTION: Final = frozenset({"type", "value", "threshold", "weight", "metric"})
_FILE: Final = "file://"
MAX_MEMBERS: Final = 1_000_000
"""The maximum number of values in all test cases, including repeated defaults."""

Json = dict[str, Any]


def _read_promptfoo(text: str) -> Iterator[Row]:
    size = 0
    cases = chain.from_iterable(
        promptfoo.expand_variables(test) for test in _iter_test_cases(yaml_files.parse(text))
    )
    for number, case in enumerate(cases, start=1):
        # Default values are repeated in each test case.
        members = case.values() if isinstance(case, dict) else ()
        size += sum(len(member) if isinstance(member, dict | list) else 1 for member in members)
        if number > dataset_items.MAX_ITEMS:
            message = Message("a dataset has at most {limit} items", limit=dataset_items.MAX_ITEMS)
            raise Invalid.field("tests", message, code="too_many_items")
        if size > MAX_MEMBERS:
            raise Invalid.field("tests", Message("are too large with the repeated defaults"))
        yield make_row(number, partial(_read_test_case, case))


def _iter_test_cases(document: Any) -> Iterator[Any]:
    config = {"tests": document} if isinstance(document, list) else document
    if not isinstance(config, dict) or not {"tests", "scenarios"} & set(config):
        raise Invalid.field("body", Message("has no tests"))
    default = _object_member(config.get("defaultTest"), "defaultTest")
    for test in _list_member(config, "tests"):
        yield promptfoo.merge_tests(default, test)
    for number, scenario in enumerate(_list_member(config, "scenarios")):
        members = _object_member(scenario, f"scenarios.{number}")
        for base, test in product(_list_member(members, "config"), _list_member(members, "tests")):
            yield promptfoo.merge_tests(promptfoo.merge_tests(default, base), test)


def _list_member(config: Mapping[str, Any], name: str) -> list[Any]:
    value = config.get(name, [])
    if isinstance(value, str):
        raise Invalid.field(name, Message("names a file, which is not read; send the tests themselves"))
    if not isinstance(value, list):
        raise Invalid.field(name, Message("must be a list"))
    return value


def _object_member(value: Any, name: str) -> Json:
    if value is None:
        return {}
    if isinstance(value, str):
        raise Invalid.field(name, Message("names a file, which is not read; send the tests themselves"))
    if not isinstance(value, dict):
        raise Invalid.field(name, Message("must be an object"))
    return value


def _read_test_case(test: Any) -> Json:
    if not isinstance(test, dict):
        raise Invalid.field("tests", Message("must be objects; files are not read"))
    variables = _object_member(test.get("vars"), "vars")
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith(_FILE):
            message = Message("names the file {file!r}, which is not read", file=value)
            raise Invalid.field(f"vars.{name}", message)
    metadata = dict(_object_member(test.get("metadata"), "metadata"))
    item_members = metadata.pop(_ITEM_MEMBERS, {})
    if isinstance(item_members, str):
        item_members = canonical.parse(item_members, field=f"metadata.{_ITEM_MEMBERS}")
    item: Json = {"input": variables["input"] if set(variables) == {"input"} else variables}
    asserts = test.get("assert") or []
    if not isinstance(asserts, list) or not all(isinstance(assertion, dict) for assertion in asserts):
        raise Invalid.field("assert", Message("must be a list of objects"))
    references = (
        assertion.get("value")
        for kind in _REFERENCES
        for assertion in asserts
        if assertion.get("type") == kind and assertion.get("value") is not None
    )
    truth = next(references, None)
    if truth is not None:
        item["groundTruth"] = promptfoo.unescape(truth) if isinstance(truth, str) else truth
    other_members = {name: value for name, value in test.items() if name not in _READ}
    if asserts and [{**assertion, "value": None} for assertion in asserts] != [
        {"type": "equals", "value": None}
    ]:
        other_members["assert"] = asserts
    if other_members:
        metadata[_TEST_MEMBERS] = other_members
    if metadata:
        item["metadata"] = metadata
    return {**item, **item_members} if isinstance(item_members, dict) else item


def _write_promptfoo(items: Items) -> Iterator[str]:
    is_empty = True
    for item in items():
        yield ("tests:\n" if is_empty else "") + yaml_files.dump([_write_test_case(item)])
        is_empty = False
    if is_empty:
        yield "tests: []\n"


def _write_test_case(item: IdentifiedItem) -> Json:
    """Return the test case from which the same item is read, and in which promptfoo runs nothing."""
    metadata = {name: value for name, value in item.get("metadata", {}).items() if name != _ITEM_MEMBERS}
    other_members = metadata.pop(_TEST_MEMBERS) if isinstance(metadata.get(_TEST_MEMBERS), dict) else {}
    variables = item["input"] if isinstance(item["input"], dict) else {"input": item["input"]}
    truth = item.get("groundTruth")
    test: Json = {
        name: value
        for name, value in other_members.items()
        if name in _DATA and promptfoo.is_plain_within(value)
    }
    if isinstance(test.get("options"), dict):
        test["options"] = {name: option for name, option in test["options"].items() if name in _OPTIONS}
    if promptfoo.is_plain_within(variables):
        test["vars"] = variables
    else:
        test["vars"] = {}
        names = (item.get(name) for name in ("externalId", "id"))
        name = next((name for name in names if name and promptfoo.is_plain(name)), "")
        test["description"] = f"Item {name}: promptfoo would run a part of it, so that it has no variables."
    if any(isinstance(value, list) for value in variables.values()):
        options = test["options"] if isinstance(test.get("options"), dict) else {}
        test["options"] = {**options, "disableVarExpansion": True}
    if isinstance(other_members.get("assert"), list):
        comparing = promptfoo.TYPES - promptfoo.CODE_TYPES  # promptfoo runs none of these
        test["assert"] = [
            assertion
            for assertion in other_members["assert"]
            if isinstance(assertion, dict)
            and isinstance(assertion.get("type"), str)
            and set(assertion) <= _ASSERTION
            and assertion["type"].removeprefix("not-") in comparing
            and promptfoo.is_plain_within(assertion)
        ]
    elif isinstance(truth, str):
        test["assert"] = [{"type": "equals", "value": promptfoo.escape(truth)}]
    elif truth is not None and promptfoo.is_plain_within(truth):
        test["assert"] = [{"type": "equals", "value": truth}]
    if not promptfoo.is_plain_within(metadata):
        metadata = {}
    try:
        read = _read_test_case({**test, "metadata": dict(metadata)})
    except Invalid:  # by stored data, which any user may have written
        return {"vars": {}, "metadata": {_ITEM_MEMBERS: promptfoo.data_text(item)}}
    item_members = {
        name: value
        for name, value in item.items()
        if name not in read or not canonical.same(read[name], value)
    }
    item_members |= {name: None for name in read if name not in item}
    test["metadata"] = (
        {**metadata, _ITEM_MEMBERS: promptfoo.data_text(item_members)} if item_members else metadata
    )
    return test


MAX_COLUMNS: Final = 200
"""The maximum number of keys of metadata and request contexts with their own columns in an export."""
_IDS: Final = ("id", "externalId")
_OPEN: Final = ("metadata", "requestContext")
_WHOLE: Final = "__"
WHOLES: Final = {f"{_WHOLE}{member}": member for member in MEMBERS}
"""The members of an item by the names of columns with the whole member."""
TAGS: Final = "tags"
LEFT_OUT: Final = ""
KEYED: Final = frozenset({"input", *_OPEN})
"""The members of an item whose members can have their own columns."""
Type = Literal["auto", "text", "number", "commaNumber", "yesNo", "json"]
_YES_NO: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "yes", "y", "1", "x", "ja", "j", "wahr"), True),
    **dict.fromkeys(("false", "no", "n", "0", "nein", "falsch"), False),
}


class Column(NamedTuple):
    """The use of a column."""

    member: str
    """The member of the item, `tags`, the name of a column with a whole member, or `LEFT_OUT`."""
    key: str | None = None
    """The name of the member's own member; None for the member itself."""
    type: Type = "auto"

    @property
    def name(self) -> str:
        """The name of the column in a file, for messages."""
        if self.key is None:
            return self.member
        return self.key if self.member == "input" else f"{self.member}.{self.key}"

    @property
    def place(self) -> tuple[str, str | None]:
        """The target of its values: a member of the item, and the name in it; None for the whole member."""
        if self.member == TAGS:
            return "metadata", tags.MEMBER
        return WHOLES.get(self.member, self.member), self.key

    def value(self, cell: str) -> Any:
        """Return the value of a cell that is not empty; raises `Invalid`."""
        is_escaped = cell.startswith("'") and cell[1:].startswith(ESCAPED)  # in the form of an export
        text = cell[1:] if is_escaped else cell
        if self.member in _IDS:  # it may look like a number
            value = typed_cell(text)
            return value if isinstance(value, str) else text
        try:
            if self.member == TAGS:
                value = typed_cell(text)
                return value if isinstance(value, list) else tags.listed_in(text)
            return _READERS[self.type](text)
        except Invalid as error:
            raise Invalid.field(self.name, error.issues[0].message) from None


_UNNAMED: Final = Column("input", "")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The settings for reading a table that its header does not give."""

    separator: str = ""
    """`ONE_COLUMN` for none; detected by default."""
    has_header: bool = True
    columns: Sequence[Column] | None = None
    """By default the columns of the header."""


def find_column(name: str) -> Column:
    """Return the use of the column with this name; one without a name must be empty."""
    before, dot, key = name.partition(".")
    if name in _IDS or name in {"input", "groundTruth"} or name in WHOLES:
        return Column(name)
    if dot and before in KEYED:
        return Column(before, key)
    return Column("input", name)


def parse_table(text: str, layout: Layout, *, is_known: Callable[[str], bool] | None = None) -> Table:
    """Return the table in a text; raises `Invalid`.

    Known names, by default those of the API, determine the separator.
    """

    def is_of_api(name: str) -> bool:
        column = find_column(name)
        return column.member != "input" or column.name != name or name == "input"

    predicate = is_known or is_of_api
    return read(text, is_known=predicate, separator=layout.separator, has_header=layout.has_header)


def parse_rows(text: str, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a table, read with the person's layout; raises `Invalid`."""
    table = parse_table(text, layout)
    columns = layout.columns
    yield from read_rows(table, list(map(find_column, table.header)) if columns is None else columns)


def read_rows(table: Table, columns: Sequence[Column]) -> Iterator[Row]:
    """Yield the rows of a table with these columns; raises `Invalid` for two of the same."""
    counts = Counter(
        column.place for column in columns if column.member != LEFT_OUT and column.place != _UNNAMED.place
    )
    twice = next((column for column in columns if counts[column.place] > 1), None)
    if twice is not None:
        raise Invalid.field("header", Message("names the column {name!r} twice", name=brief(twice.name)))
    for number, line in enumerate(table.rows, start=1):
        if any(line):
            yield make_row(number, partial(_read_row, columns, line))


def _read_row(columns: Sequence[Column], line: Sequence[str]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    keyed: dict[str, dict[str, Any]] = {}
    for column, value in _typed_values(columns, line):
        member, key = column.place
        if key is None:
            item[member] = value
        else:
            keyed.setdefault(member, {})[key] = value
    for member, keyed_values in keyed.items():
        whole = item.get(member, {})
        duplicates = whole.keys() & keyed_values.keys() if isinstance(whole, dict) else keyed_values.keys()
        if duplicates:
            message = Message("has its own value, so {name!r} cannot be a member", name=min(duplicates))
            raise Invalid.field(member, message)
        item[member] = {**whole, **keyed_values}
    return item


def _typed_values(columns: Sequence[Column], line: Sequence[str]) -> list[tuple[Column, Any]]:
    """Return the values of a row with their columns; raises `Invalid` with every issue."""
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


def _write_table(items: Items) -> Iterator[str]:
    """Return the lines; the items are read twice, because the columns come first."""
    keys: dict[str, None] = {}
    wholes: set[str] = set()
    for item in items():
        for member in _OPEN:
            for key in item.get(member, ()):
                name = f"{member}.{key}"
                if len(keys) < MAX_COLUMNS and name == name.strip():  # a header is read without white space
                    keys[name] = None
        wholes.update(f"{_WHOLE}{member}" for member in MEMBERS if _is_whole(item, member, keys))
    columns = [*_IDS, "input", "groundTruth", *sorted(keys), *(name for name in WHOLES if name in wholes)]
    return lines(columns, (_row_cells(item, columns) for item in items()))


def _is_whole(item: IdentifiedItem, member: str, keys: Iterable[str]) -> bool:
    if member not in item or member in {"input", "groundTruth"}:
        return False
    if member not in _OPEN:
        return True
    return not item[member] or any(f"{member}.{key}" not in keys for key in item[member])


def _row_cells(item: IdentifiedItem, columns: list[str]) -> Iterator[str]:
    whole = {member for member in MEMBERS if _is_whole(item, member, columns)}
    for name in columns:
        before, _, key = name.partition(".")
        if name in WHOLES:
            member = WHOLES[name]
            yield format_cell(item[member]) if member in whole else ""
        elif before in _OPEN:
            has_value = before not in whole and key in item.get(before, {})
            yield format_cell(item[before][key]) if has_value else ""
        else:
            yield format_cell(item[name]) if item.get(name) is not None or name == "input" else ""


def format_cell(value: Any) -> str:
    """Return the text of a cell; an empty one is no value."""
    return escape_cell(format_value(value))


def _parse_number(text: str, *, comma: bool) -> int | float:
    number = whole_number(text, comma=comma)
    if number is None:
        raise Invalid.field("", Message("is not a number: {text!r}", text=brief(text)))
    is_short = number.adjusted() < _MAX_DIGITS or "e" not in text.casefold()
    value = int(number) if is_short and number == number.to_integral_value() else float(number)
    if (fault := canonical.fault(value)) is not None:
        raise Invalid.field("", fault[1])
    return value


def _parse_yes_or_no(text: str) -> bool:
    try:
        return _YES_NO[text.strip().casefold()]
    except KeyError:
        raise Invalid.field("", Message("is neither yes nor no: {text!r}", text=brief(text))) from None


_MAX_DIGITS: Final = 21
"""Longer whole numbers with an exponent also have one in JSON."""
_READERS: Final[Mapping[Type, Callable[[str], Any]]] = {
    "auto": typed_cell,
    "text": str,
    "number": partial(_parse_number, comma=False),
    "commaNumber": partial(_parse_number, comma=True),
    "yesNo": _parse_yes_or_no,
    "json": canonical.parse,
}
TYPES: Final = frozenset(_READERS)


FORMATS: Final[Mapping[str, Format]] = {
    "jsonl": Format(
        media_type="application/x-ndjson",
        suffix="jsonl",
        read=_read_json_lines,
        write=lambda items: (canonical.dump(item) + "\n" for item in items()),
    ),
    "csv": Format(
        media_type="text/csv; charset=utf-8",
        suffix="csv",
        read=lambda text: parse_rows(text, Layout()),
        write=_write_table,
    ),
    "promptfoo": Format(
        media_type="application/yaml", suffix="yaml", read=_read_promptfoo, write=_write_promptfoo
    ),
}
