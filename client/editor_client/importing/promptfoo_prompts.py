"""The prompts of a promptfoo configuration: texts, chats, and files in the folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from editor_client.importing.collection import Collection, Unreadable, a_text, shown
from editor_client.importing.documents import Documents, csv_rows, parse_json
from editor_client.importing.yaml_text import parse_yaml

EXECUTED: Final = re.compile(r"(?:exec|python|javascript|ruby|webhook|https?|wss?|golang|file):")
MAX_PATH: Final = 300


class Prompt(NamedTuple):
    """A prompt and its name."""

    name: str
    content: Any
    """A text, or a list of messages."""


@dataclass(frozen=True)
class Prompts:
    """Reads the prompts of a configuration of this name."""

    documents: Documents
    collection: Collection
    name: str

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
        if isinstance(one, dict):
            text = next((one[key] for key in ("raw", "id", "prompt") if one.get(key)), None)
            name = a_text(one.get("label")).strip() or name
        else:
            text = one
        if isinstance(text, list):
            yield Prompt(name, text)
        elif not isinstance(text, str):
            self.collection.lose("prompt", name, "It is no text, and is left out.")
        elif text.startswith("file://") or (_is_path(text) and self._is_file(text)):
            yield from self._prompts_in_files(text, name, labelled=isinstance(one, dict))
        elif EXECUTED.match(text):
            self.collection.lose("not_followed", name, f"{shown(text)} is left out: nothing is executed.")
        else:
            yield Prompt(name, _chat_in(text))

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
            self.collection.lose("not_followed", name, str(error))
            return
        for path in paths:
            if path.suffix not in _READERS:
                message = f"{shown(path.name)} is left out: it is no text, and nothing is executed."
                self.collection.lose("not_followed", name, message)
                continue
            found = list(_in_file(self.documents, path))
            base = name if labelled and len(paths) == 1 else f"{self.name}/{path.stem}"
            for number, (label, content) in enumerate(found, 1):
                yield Prompt(label or (base if len(found) == 1 else f"{base}/{number}"), content)


Labelled = Iterator[tuple[str, Any]]
"""Labels, which may be empty, and contents."""


def _in_file(documents: Documents, path: Path) -> Labelled:
    """Yield (label, content) for each prompt in a file."""
    return _READERS[path.suffix](documents.text(path), path.name)


def _rows(text: str, name: str) -> Labelled:
    for row in csv_rows(text, name):
        if a_text(row.get("prompt")).strip():
            yield a_text(row.get("label")).strip(), _chat_in(str(row["prompt"]))


def _lines(text: str, name: str) -> Labelled:
    yield from (("", parse_json(line, name)) for line in text.split("\n") if line.strip())


def _value(parse: Callable[[str, str], Any], text: str, name: str) -> Labelled:
    value = parse(text, name)
    yield "", value if isinstance(value, list) else text


def _sections(text: str, name: str) -> Labelled:
    for part in re.split(r"(?m)^---\s*$", text):
        if part.strip():
            yield "", _chat_in(part.strip("\n"))


def _whole(text: str, name: str) -> Labelled:
    yield "", _chat_in(text)


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


def _is_path(text: str) -> bool:
    return len(text) < MAX_PATH and "\n" not in text and text.endswith(tuple(_READERS))


def _chat_in(text: str) -> Any:
    """Return the messages in a prompt that is JSON, otherwise the text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        value = parse_json(text, "prompt")
    except Unreadable:
        return text
    is_chat = (
        isinstance(value, list) and value and all(isinstance(one, dict) and "role" in one for one in value)
    )
    return value if is_chat else text
