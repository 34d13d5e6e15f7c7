"""The prompts of a promptfoo configuration: texts, chats, and files in the folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from editor_client.transfer.importing import credentials
from editor_client.transfer.importing.collection import Collection, Unreadable, a_text, shown
from editor_client.transfer.importing.documents import Documents, csv_rows, parse_json
from editor_client.transfer.importing.members import Members
from editor_client.transfer.importing.yaml_text import parse_yaml

EXECUTED: Final = re.compile(r"(?:exec|python|javascript|ruby|webhook|https?|wss?|golang|file):")
MAX_PATH: Final = 300


class Prompt(NamedTuple):
    """A prompt and its name."""

    name: str
    content: Any
    """A text, or a list of messages."""
    left: Mapping[str, Any] = {}
    """What the editor has no place for."""


@dataclass(frozen=True)
class Prompts:
    """Reads the prompts of a configuration of this name."""

    documents: Documents
    collection: Collection
    name: str
    unread: list[Any] = field(default_factory=list)
    """The prompts that are left out."""

    def read(self, given: Any) -> list[Prompt]:
        """Return the prompts in the member `prompts`."""
        if isinstance(given, dict):  # files, each with its label
            given = [{"id": path, "label": label} for path, label in given.items()]
        listed = given if isinstance(given, list) else [] if given is None else [given]
        found: list[Prompt] = []
        for number, one in enumerate(listed, 1):
            found += self._prompts_in(one, self.name if len(listed) == 1 else f"{self.name}/{number}")
        return found

    def _prompts_in(self, one: Any, name: str) -> Iterator[Prompt]:
        left: dict[str, Any] = {}
        if isinstance(one, dict):
            members = Members(one, self.collection, name)
            key = next((key for key in ("raw", "id", "prompt") if members.peek(key)), "")
            text = members.take(key)
            name = members.text("label").strip() or name
            left = members.left()
        else:
            text = one
        if isinstance(text, list):
            yield Prompt(name, text, left)
        elif not isinstance(text, str):
            self._lose("prompt", name, "It is no text, and is left out.", one)
        elif text.startswith("file://") or (
            (len(text) < MAX_PATH and "\n" not in text and text.endswith(tuple(_READERS)))
            and self._is_file(text)
        ):
            for prompt in self._prompts_in_files(text, name, labelled=isinstance(one, dict)):
                yield prompt._replace(left={**left, **prompt.left})
        elif EXECUTED.match(text):
            self._lose("not_followed", name, f"{shown(text)} is left out: nothing is executed.", one)
        else:
            yield Prompt(name, _chat_in(text), left)

    def _lose(self, code: str, name: str, message: str, one: Any) -> None:
        self.collection.lose(code, name, message)
        self.unread.append(credentials.without(one, self.collection, name))

    def _is_file(self, text: str) -> bool:
        try:
            return bool(self.documents.matching(text)) and self.documents.matching(text)[0].is_file()
        except (Unreadable, OSError, ValueError):
            return False

    def _prompts_in_files(self, reference: str, name: str, *, labelled: bool) -> Iterator[Prompt]:
        reference = reference.removeprefix("file://")
        try:
            paths = self.documents.matching(reference)
        except Unreadable as error:
            self._lose("not_followed", name, str(error), reference)
            return
        if not paths:
            self._lose("not_followed", name, f"{shown(reference)} names no file.", reference)
        for path in paths:
            if path.suffix not in _READERS:
                message = f"{shown(path.name)} is left out: it is no text, and nothing is executed."
                self._lose("not_followed", name, message, reference)
                continue
            if not path.is_file():
                self._lose("not_followed", name, f"{shown(path.name)} is not there.", reference)
                continue
            found = list(_READERS[path.suffix](self.documents.text(path), path.name))
            base = name if labelled and len(paths) == 1 else f"{self.name}/{path.stem}"
            for column in sorted({column for _, _, left in found for column in left}):
                lost = f"The column {shown(column)!r} has no place in the editor: metadata.import has it."
                self.collection.lose("column", f"{name}, {path.name}", lost)
            for number, (label, content, left) in enumerate(found, 1):
                yield Prompt(label or (base if len(found) == 1 else f"{base}/{number}"), content, left)


_COLUMNS: Final = frozenset({"prompt", "label"})
"""The columns of a table of prompts that are read."""
Labelled = Iterator[tuple[str, Any, dict[str, Any]]]
"""Labels, which may be empty, contents, and what is left of rows."""


def _rows(text: str, name: str) -> Labelled:
    for row in csv_rows(text, name, _COLUMNS.__contains__):
        left = {key or "cells": cell for key, cell in row.items() if key not in _COLUMNS and cell}
        if a_text(row.get("prompt")).strip():
            yield a_text(row.get("label")).strip(), _chat_in(str(row["prompt"])), left


def _lines(text: str, name: str) -> Labelled:
    yield from (("", parse_json(line, name), {}) for line in text.split("\n") if line.strip())


def _value(parse: Callable[[str, str], Any], text: str, name: str) -> Labelled:
    """Yield a chat, or a text: one with the logic of a template is JSON only when that is filled in."""
    try:
        value = parse(text, name)
    except Unreadable:
        value = None
    yield "", value if isinstance(value, list) else text, {}


def _sections(text: str, name: str) -> Labelled:
    for part in re.split(r"(?m)^---\s*$", text):
        if part.strip():
            yield "", _chat_in(part.strip("\n")), {}


def _whole(text: str, name: str) -> Labelled:
    yield "", _chat_in(text), {}


_READERS: Final[Mapping[str, Callable[[str, str], Labelled]]] = {
    ".txt": _sections,
    ".md": _whole,
    ".j2": _whole,
    ".json": partial(_value, parse_json),
    ".jsonl": _lines,
    ".yaml": partial(_value, parse_yaml),
    ".yml": partial(_value, parse_yaml),
    ".csv": _rows,
}


def _chat_in(text: str) -> Any:
    """Return the messages in a prompt that is JSON, otherwise the text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        value = parse_json(text, "prompt")
    except Unreadable:
        return text
    is_chat = (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "role" in entry for entry in value)
    )
    return value if is_chat else text
