"""What the columns of a table become in items of a dataset: recognised, chosen, and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, override
from editor_client.shared import canonical
from editor_client.shared.tables import ONE_COLUMN, WINDOWS, Table, decode
from editor_client.shared.text_keys import caseless

from capabilities.evaluation.datasets.formats import (
    KEYED,
    LEFT_OUT,
    TAGS,
    TYPES,
    WHOLES,
    Column,
    Layout,
    column_of,
    rows_of,
    table_in,
)
from studio.translation import translated
from versioning.domain.errors import Invalid, Message

MAX_ROWS: Final = 5
"""How many rows are shown as they would become."""
MAX_COLUMNS: Final = 200
EXAMPLE: Final = "example"
"""What a form says of a table without a header."""
ENCODINGS: Final = ("utf-8", WINDOWS)
"""Without a mark, the second is a guess, which the page says."""
FIRST_ROWS: Final = [
    ("", gettext_lazy("is a header")),
    (EXAMPLE, gettext_lazy("is already an item: first the input, then a good answer")),
]
_SEPARATORS: Final = {
    ",": gettext_lazy("Commas"),
    ";": gettext_lazy("Semicolons"),
    "\t": gettext_lazy("Tabs"),
    "|": gettext_lazy("Vertical bars"),
    ONE_COLUMN: gettext_lazy("Nothing: it is one column"),
}
_MEMBERS: Final = {
    "input": gettext_lazy("Input"),
    "input.": gettext_lazy("Named part of the input"),
    "groundTruth": gettext_lazy("A good answer"),
    TAGS: gettext_lazy("Tags"),
    "metadata.": gettext_lazy("Metadata"),
    "requestContext.": gettext_lazy("Request context"),
    "externalId": gettext_lazy("External id"),
    "id": gettext_lazy("Id of the item"),
    LEFT_OUT: gettext_lazy("Leave out"),
}
_TYPES: Final = {
    "auto": gettext_lazy("As it looks"),
    "text": gettext_lazy("Text"),
    "number": gettext_lazy("Number, such as 1,234.5"),
    "commaNumber": gettext_lazy("Number, such as 1.234,5"),
    "yesNo": gettext_lazy("Yes or no"),
    "json": gettext_lazy("JSON"),
}
_CAPTIONS: Final = {
    gettext_noop("Input"): "input",
    gettext_noop("A good answer"): "groundTruth",
    gettext_noop("Tags"): TAGS,
    gettext_noop("Metadata"): "metadata",
    gettext_noop("Request context"): "requestContext",
    gettext_noop("External id"): "externalId",
    "groundTruth": "groundTruth",
    "requestContext": "requestContext",
    "externalId": "externalId",
    "id": "id",
}
"""The words of the studio and of the API for what a column can be."""
_SYNONYMS: Final = {
    "input": frozenset(
        [
            "question",
            "questions",
            "prompt",
            "query",
            "request",
            "usermessage",
            "message",
            "frage",
            "fragen",
            "anfrage",
            "nachricht",
        ]
    ),
    "groundTruth": frozenset(
        [
            "answer",
            "answers",
            "goodanswer",
            "expected",
            "expectedanswer",
            "expectedoutput",
            "reference",
            "output",
            "antwort",
            "antworten",
            "guteantwort",
            "erwartet",
            "erwarteteantwort",
            "referenz",
        ]
    ),
}
"""Other words of people for an input and a good answer; the words above take precedence."""


@cache
def _known_captions() -> Mapping[str, str]:
    """Return the members of items by their captions in all languages, without capitals and spaces."""
    found: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with override(language):
            found |= {_plain(_(caption)): member for caption, member in _CAPTIONS.items()}
    return found | {_plain(caption): member for caption, member in _CAPTIONS.items()}


def _plain(caption: str) -> str:
    return "".join(one for one in caseless(caption) if one.isalnum())


def recognised(name: str) -> Column | None:
    """Return what the column with this caption becomes, if it is one that the editor or its API uses."""
    column = column_of(name)
    if column == Column("metadata", TAGS):
        return Column(TAGS)
    before, dot, key = name.partition(".")
    if column.member != "input" or column.key is None or (dot and before == "input"):
        return column
    known = _known_captions()
    if dot and key.strip() and (member := known.get(_plain(before))) in KEYED:
        return (
            Column(TAGS) if (member, _plain(key)) == ("metadata", TAGS) else Column(str(member), key.strip())
        )
    member = known.get(_plain(name))
    if member is not None and f"__{member}" in WHOLES and member not in {"input", "groundTruth"}:
        return Column(f"__{member}")
    return None if member is None else Column(member)


def _guessed(header: Sequence[str], *, has_header: bool) -> list[Column]:
    """Return what the columns become unless a person says otherwise.

    A column with another word for the input or the good answer becomes that, unless another column is it.
    If a column is the input itself, others cannot be members of it: they become metadata.
    """
    if not has_header:
        members = ("input", "groundTruth")
        return [
            Column(members[number] if number < len(members) else LEFT_OUT) for number in range(len(header))
        ]
    known = [recognised(name) for name in header]
    for member, words in _SYNONYMS.items():
        places = [n for n, name in enumerate(header) if known[n] is None and _plain(name) in words]
        if places and not any(one is not None and one.member.strip("_") == member for one in known):
            known[places[0]] = Column(member)
    if Column("input") not in known:
        return [one or column_of(name) for one, name in zip(known, header, strict=True)]
    return [one or Column("metadata", name) for one, name in zip(known, header, strict=True)]


@dataclass(frozen=True)
class Cell:
    """A cell as it would become."""

    text: str
    kind: str = ""
    """What it is besides a text."""
    error: str = ""


@dataclass(frozen=True)
class ShownColumn:
    """A column with the choice of what it becomes, and its first cells."""

    number: int
    caption: str
    column: Column
    members: Sequence[tuple[str, Any]]
    """What it can become: value, words."""
    cells: Sequence[Cell]

    @property
    def member(self) -> str:
        """The value of the choice."""
        return _choice(self.column)

    @property
    def key(self) -> str:
        """The name that it gets as a member of something else; by default its caption."""
        return self.caption if self.column.key is None else self.column.key


class Sheet:
    """A table that is about to be imported, with what a person has chosen about it."""

    types = tuple(_TYPES.items())
    separators = tuple(_SEPARATORS.items())
    first_rows = FIRST_ROWS

    def __init__(self, body: bytes, first_row: str, given: Mapping[str, str]) -> None:
        """Read the table; raises `Invalid`."""
        self.text, self.encoding = decode(body, *ENCODINGS)
        self.first_row = first_row
        chosen = given.get("separator", "")
        asked = Layout(
            separator=chosen if chosen in _SEPARATORS else "", has_header=self.first_row != EXAMPLE
        )
        self.table: Table = table_in(self.text, asked, is_known=lambda name: recognised(name) is not None)
        self.separator = self.table.separator or ONE_COLUMN
        count = len(self.table.header)
        if count > MAX_COLUMNS:
            values = {"count": count, "limit": MAX_COLUMNS}
            raise Invalid.field("header", Message("has {count} columns; this page shows {limit}", **values))
        guesses = _guessed(self.table.header, has_header=asked.has_header)
        is_answer = given.get("columns") == self.shape
        self.columns = [
            _chosen(given, number, guess) if is_answer else guess for number, guess in enumerate(guesses)
        ]

    @property
    def shape(self) -> str:
        """What the choices about columns are about: others are asked after another separator or first row."""
        return f"{ord(self.separator)} {len(self.table.header)} {self.first_row}"

    @property
    def layout(self) -> Layout:
        """How the table is read."""
        return Layout(
            separator=self.separator, has_header=self.first_row != EXAMPLE, columns=tuple(self.columns)
        )

    @property
    def is_guessed(self) -> bool:
        """Whether the encoding may be another."""
        return self.encoding == WINDOWS

    @property
    def has_own_names_alone(self) -> bool:
        """Whether no name of the header says what is an input and what a good answer."""
        guessed = _guessed(self.table.header, has_header=self.first_row != EXAMPLE)
        members = {one.member for one in guessed if one.key is None}
        return self.first_row != EXAMPLE and members.isdisjoint({"input", "groundTruth"})

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows."""
        return [row for row in self.table.rows if any(row)][:MAX_ROWS]

    @property
    def shown(self) -> list[ShownColumn]:
        """The columns with their choices."""
        return [self._shown(number, column) for number, column in enumerate(self.columns)]

    @property
    def first_item(self) -> str:
        """The first item as JSON; empty if the row has faults."""
        few = Table(self.table.header, self.rows[:1], self.table.separator)
        try:
            return next((canonical.file_text(row.item) for row in rows_of(few, self.columns) if row.item), "")
        except Invalid:
            return ""

    def _shown(self, number: int, column: Column) -> ShownColumn:
        name = self.table.header[number]
        members: list[tuple[str, Any]] = list(_MEMBERS.items())
        if column.member in WHOLES:
            words = _("All of %(member)s, as JSON") % {"member": WHOLES[column.member]}
            members.insert(-1, (column.member, words))
        return ShownColumn(
            number=number,
            caption=name or _("Column %(number)s") % {"number": number + 1},
            column=column,
            members=members,
            cells=[_cell(column, row[number] if number < len(row) else "") for row in self.rows],
        )


def _choice(column: Column) -> str:
    return column.member if column.key is None else f"{column.member}."


def _chosen(given: Mapping[str, str], number: int, guess: Column) -> Column:
    """Return what a person has chosen for a column; what is no choice is what was guessed."""
    member, key, kind = (given.get(f"{name}-{number}", "") for name in ("member", "key", "type"))
    if f"member-{number}" not in given or not (member in _MEMBERS or member == _choice(guess)):
        return guess
    is_keyed = member.endswith(".")
    return Column(
        member.removesuffix("."),
        key.strip() if is_keyed else None,
        next((one for one in TYPES if one == kind), "auto"),
    )


def _cell(column: Column, text: str) -> Cell:
    """Return a cell as it would become."""
    if not text or column.member == LEFT_OUT:
        return Cell(text)
    try:
        value = column.value(text)
    except Invalid as error:
        return Cell(text, error=translated(error.issues[0].message))
    if column.member == "id":
        return Cell(text, _("identifies the item and is not stored"))
    if column.member == TAGS and isinstance(value, list):
        return Cell(", ".join(map(str, value)), _("tags"))
    if isinstance(value, str):
        return Cell(value)
    return Cell(canonical.dump(value), _kind(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes or no")
    return _("number") if isinstance(value, int | float) else "JSON"
