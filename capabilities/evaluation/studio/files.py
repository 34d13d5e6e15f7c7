"""A dataset from a file or from the cells of a spreadsheet, and to a file."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, override
from editor_client.shared import canonical
from editor_client.shared.tables import ONE_COLUMN, WINDOWS, Table, decode
from editor_client.shared.text_keys import caseless

from capabilities.evaluation.datasets import formats
from capabilities.evaluation.datasets.api import export_response
from capabilities.evaluation.datasets.verbs import Datasets, Imported, ImportRefused
from capabilities.evaluation.studio.base import DatasetPage
from studio.pages import FormPage
from studio.translation import translate
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.uuids import is_key

MAX_ROWS: Final = 5
"""The number of rows in the preview."""
MAX_COLUMNS: Final = 200
EXAMPLE: Final = "example"
"""The form's value for a table without a header."""
ENCODINGS: Final = ("utf-8", WINDOWS)
"""Without a byte order mark, the second is a guess, and the page shows that."""
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
    formats.TAGS: gettext_lazy("Tags"),
    "metadata.": gettext_lazy("Metadata"),
    "requestContext.": gettext_lazy("Request context"),
    "externalId": gettext_lazy("External id"),
    "id": gettext_lazy("Id of the item"),
    formats.LEFT_OUT: gettext_lazy("Leave out"),
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
    gettext_noop("Tags"): formats.TAGS,
    gettext_noop("Metadata"): "metadata",
    gettext_noop("Request context"): "requestContext",
    gettext_noop("External id"): "externalId",
    "groundTruth": "groundTruth",
    "requestContext": "requestContext",
    "externalId": "externalId",
    "id": "id",
}
"""The words of the studio and of the API for the uses of a column."""
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
    members: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with override(language):
            members |= {_plain(_(caption)): member for caption, member in _CAPTIONS.items()}
    return members | {_plain(caption): member for caption, member in _CAPTIONS.items()}


def _plain(caption: str) -> str:
    return "".join(letter for letter in caseless(caption) if letter.isalnum())


def recognise_column(name: str) -> formats.Column | None:
    """Return the use of the column with this caption, if the editor or its API knows the caption."""
    column = formats.find_column(name)
    if column == formats.Column("metadata", formats.TAGS):
        return formats.Column(formats.TAGS)
    before, dot, key = name.partition(".")
    if column.member != "input" or column.key is None or (dot and before == "input"):
        return column
    captions = _known_captions()
    if dot and key.strip() and (member := captions.get(_plain(before))) in formats.KEYED:
        return (
            formats.Column(formats.TAGS)
            if (member, _plain(key)) == ("metadata", formats.TAGS)
            else formats.Column(str(member), key.strip())
        )
    member = captions.get(_plain(name))
    if member is not None and f"__{member}" in formats.WHOLES and member not in {"input", "groundTruth"}:
        return formats.Column(f"__{member}")
    return None if member is None else formats.Column(member)


def _guess_columns(header: Sequence[str], *, has_header: bool) -> list[formats.Column]:
    """Return the default uses of the columns.

    A column with a synonym of the input or the good answer becomes that, unless another column already is. If
    a column is the input itself, others cannot be its members, so they become metadata.
    """
    if not has_header:
        members = ("input", "groundTruth")
        return [
            formats.Column(members[number] if number < len(members) else formats.LEFT_OUT)
            for number in range(len(header))
        ]
    columns = [recognise_column(name) for name in header]
    for member, words in _SYNONYMS.items():
        places = [n for n, name in enumerate(header) if columns[n] is None and _plain(name) in words]
        if places and not any(
            column is not None and column.member.strip("_") == member for column in columns
        ):
            columns[places[0]] = formats.Column(member)
    if formats.Column("input") not in columns:
        return [column or formats.find_column(name) for column, name in zip(columns, header, strict=True)]
    return [column or formats.Column("metadata", name) for column, name in zip(columns, header, strict=True)]


@dataclass(frozen=True)
class Cell:
    """A cell of the preview."""

    text: str
    kind: str = ""
    """Its type, if it is not a text."""
    error: str = ""


class Sheet:
    """A table to import, with the person's choices."""

    types = tuple(_TYPES.items())
    separators = tuple(_SEPARATORS.items())
    first_rows = FIRST_ROWS

    def __init__(self, body: bytes, first_row: str, choices: Mapping[str, str]) -> None:
        """Read the table; raises `Invalid`."""
        self.text, encoding = decode(body, *ENCODINGS)
        self.is_guessed = encoding == WINDOWS  # so the encoding may be a different one
        self.first_row = first_row
        separator = choices.get("separator", "")
        layout = formats.Layout(
            separator=separator if separator in _SEPARATORS else "", has_header=self.first_row != EXAMPLE
        )
        self.table: Table = formats.parse_table(
            self.text, layout, is_known=lambda name: recognise_column(name) is not None
        )
        self.separator = self.table.separator or ONE_COLUMN
        count = len(self.table.header)
        if count > MAX_COLUMNS:
            values = {"count": count, "limit": MAX_COLUMNS}
            raise Invalid.field("header", Message("has {count} columns; this page shows {limit}", **values))
        guesses = _guess_columns(self.table.header, has_header=layout.has_header)
        members = {column.member for column in guesses if column.key is None}
        # Whether no name of the header identifies the inputs and the good answers.
        self.has_own_names_alone = layout.has_header and members.isdisjoint({"input", "groundTruth"})
        is_answer = choices.get("columns") == self.shape
        self.columns = (
            [_read_column(choices, number, guess) for number, guess in enumerate(guesses)]
            if is_answer
            else guesses
        )

    @property
    def shape(self) -> str:
        """The state for which the choices were made; another separator or first row resets them."""
        return f"{ord(self.separator)} {len(self.table.header)} {self.first_row}"

    @property
    def layout(self) -> formats.Layout:
        """The settings for reading the table."""
        return formats.Layout(
            separator=self.separator, has_header=self.first_row != EXAMPLE, columns=tuple(self.columns)
        )

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows."""
        return [row for row in self.table.rows if any(row)][:MAX_ROWS]

    @property
    def column_choices(self) -> Sequence[Mapping[str, Any]]:
        """The columns with the choices of their members, and their first cells."""
        choices = []
        for number, (name, column) in enumerate(zip(self.table.header, self.columns, strict=True)):
            members: list[tuple[str, Any]] = list(_MEMBERS.items())
            if column.member in formats.WHOLES:
                words = _("All of %(member)s, as JSON") % {"member": formats.WHOLES[column.member]}
                members.insert(-1, (column.member, words))
            caption = name or _("Column %(number)s") % {"number": number + 1}
            choices.append(
                {
                    "number": number,
                    "caption": caption,
                    "column": column,
                    "member": _choice(column),
                    "members": members,
                    # Its name as a member of another value.
                    "key": caption if column.key is None else column.key,
                    "cells": [_cell(column, row[number] if number < len(row) else "") for row in self.rows],
                }
            )
        return choices

    @property
    def first_item(self) -> str:
        """The first item as JSON; empty if the row has faults."""
        few = Table(self.table.header, self.rows[:1], self.table.separator)
        try:
            return next(
                (canonical.file_text(row.item) for row in formats.read_rows(few, self.columns) if row.item),
                "",
            )
        except Invalid:
            return ""


def _choice(column: formats.Column) -> str:
    return column.member if column.key is None else f"{column.member}."


def _read_column(choices: Mapping[str, str], number: int, guess: formats.Column) -> formats.Column:
    """Return the choice of a person for a column, or the guess if the value is no choice."""
    member, key, kind = (choices.get(f"{name}-{number}", "") for name in ("member", "key", "type"))
    if f"member-{number}" not in choices or not (member in _MEMBERS or member == _choice(guess)):
        return guess
    is_keyed = member.endswith(".")
    return formats.Column(
        member.removesuffix("."),
        key.strip() if is_keyed else None,
        next((column_type for column_type in formats.TYPES if column_type == kind), "auto"),
    )


def _cell(column: formats.Column, text: str) -> Cell:
    if not text or column.member == formats.LEFT_OUT:
        return Cell(text)
    try:
        value = column.value(text)
    except Invalid as error:
        return Cell(text, error=translate(error.issues[0].message))
    if column.member == "id":
        return Cell(text, _("identifies the item and is not stored"))
    if column.member == formats.TAGS and isinstance(value, list):
        return Cell(", ".join(map(str, value)), _("tags"))
    if isinstance(value, str):
        return Cell(value)
    kind = _("number") if isinstance(value, int | float) else "JSON"
    return Cell(canonical.dump(value), _("yes or no") if isinstance(value, bool) else kind)


_SUFFIXES: Final = {"csv": "csv", "tsv": "csv", "txt": "csv", "yaml": "promptfoo", "yml": "promptfoo"}
MAX_SHOWN: Final = 50
"""The number of failing rows that are shown."""
TITLES: Final = {
    "csv": gettext_lazy("Table (CSV)"),
    "jsonl": gettext_lazy("JSON Lines"),
    "promptfoo": gettext_lazy("promptfoo test cases (YAML)"),
}


class ImportForm(forms.Form):
    """A file, or cells that were copied."""

    file = forms.FileField(label=gettext_lazy("File"), required=False, allow_empty_file=True)
    pasted = forms.CharField(label=gettext_lazy("Or cells from a spreadsheet"), required=False, strip=False)
    first_row = forms.ChoiceField(label=gettext_lazy("First row"), required=False, choices=FIRST_ROWS)
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[("", gettext_lazy("By the name of the file")), *TITLES.items()],
    )
    content = forms.CharField(required=False, widget=forms.HiddenInput)
    """The previewed file (`pack_file`), because a browser may change a text that it sends."""

    def clean(self) -> dict[str, Any]:
        """Add the bytes of the file as `body`, and its format; raises `ValidationError` without a file."""
        fields: dict[str, Any] = super().clean() or {}
        file, pasted = fields.get("file"), fields.get("pasted", "")
        name = file.name if file is not None else ""
        by_name = _SUFFIXES.get(name.rpartition(".")[2].lower(), "jsonl") if name else "csv"
        fields["format"] = fields.get("format") or by_name
        if file is not None:
            fields["body"] = file.read()
        elif fields.get("content"):
            first_row, fields["body"] = _unpack_file(fields["content"])
            if "first_row" not in self.data:
                fields["first_row"] = first_row
        elif pasted.strip():
            fields["body"] = pasted.replace("\r\n", "\n").encode()
        else:
            raise forms.ValidationError(_("Choose a file, or paste cells."))
        if len(pack_file("", fields["body"])) > settings.EDITOR_MAX_BODY * 3 // 4:
            message = _("This file is too large for a preview. Split it, or send it to the API.")
            raise forms.ValidationError(message)
        return fields


def pack_file(first_row: str, body: bytes) -> str:
    """Return a file and the meaning of its first row as a text for the page; nothing is stored."""
    return f"{first_row}:{base64.b64encode(zlib.compress(body)).decode()}"


def _unpack_file(content: str) -> tuple[str, bytes]:
    """Return the packed file, at most `EDITOR_MAX_BODY` bytes; raises `ValidationError`."""
    reading = zlib.decompressobj()
    first_row, _colon, file = content.partition(":")
    try:
        body = reading.decompress(base64.b64decode(file, validate=True), settings.EDITOR_MAX_BODY)
    except (binascii.Error, ValueError, zlib.error):
        body = b""
    if not reading.eof:
        raise forms.ValidationError(_("The file did not arrive completely. Choose it again."))
    return (EXAMPLE if first_row == EXAMPLE else ""), body


class ImportPage(FormPage, DatasetPage):
    """Previews an import and the members of its columns, and imports it."""

    right = Right.SAVE
    template = "evaluation/import.html"

    @property
    def title(self) -> str:
        return _("Import into %(name)s") % {"name": self.dataset.name}

    def form(self, data: Any = None) -> ImportForm:
        return ImportForm() if data is None else ImportForm(data, self.request.FILES)

    def save(self, form: ImportForm) -> HttpResponse:
        """Preview the import; after that, import the items."""
        file, is_dry_run = form.cleaned_data, self.request.POST.get("do") != "import"
        sheet = None
        try:
            if file["format"] == "csv":
                sheet = Sheet(file["body"], file["first_row"], self.request.POST)
            imported = Datasets.import_items(
                self.dataset_id,
                file["body"],
                format=file["format"],
                dry_run=is_dry_run,
                encodings=ENCODINGS if sheet else (),
                layout=sheet.layout if sheet else None,
                by=self.caller,
            )
        except ImportRefused as error:  # the preview fitted
            return self.show_preview(form, sheet, Imported(failed=list(error.failed)), status=400)
        except Invalid as error:
            sentences = _sentences(error.issues[:MAX_SHOWN])
            if sheet is not None:  # other choices may help
                return self.show_preview(form, sheet, None, status=400, errors=sentences)
            for issue in sentences:
                form.add_error(None, issue)
            return self.show(form, status=400)
        if is_dry_run:
            return self.show_preview(form, sheet, imported)
        sentence = _("New items: %(created)s. Duplicates: %(unchanged)s.")
        counts = {"created": imported.created, "unchanged": imported.unchanged}
        return self.go(self.own_address(), sentence % counts)

    def show_preview(
        self,
        form: ImportForm,
        sheet: Sheet | None,
        imported: Imported | None,
        *,
        status: int = 200,
        **context: Any,
    ) -> HttpResponse:
        """Preview the import of the file."""
        file = form.cleaned_data
        failed = imported.failed if imported is not None else []
        return self.show(
            form,
            status=status,
            is_looked_at=True,
            done=imported,
            failed=[(row.row, _sentences(row.issues)) for row in failed[:MAX_SHOWN]],
            others=max(0, len(failed) - MAX_SHOWN),
            content=pack_file(file["first_row"], file["body"]),
            chosen_format=file["format"],
            sheet=sheet,
            **context,
        )


def _sentences(issues: Iterable[Issue]) -> list[str]:
    return [f"{issue.field}: {translate(issue.message)}" for issue in issues]


class ExportPage(DatasetPage):
    """The items as a file."""

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponseBase:
        """Send it."""
        name, version = request.GET.get("format", "csv"), request.GET.get("version", "")
        if name not in formats.FORMATS or (version and not is_key(version)):
            raise NotFound
        return export_response(
            self.dataset_id, name, version=int(version) if version else None, by=self.caller
        )
